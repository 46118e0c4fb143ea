// Package static holds what browsers fetch beside pages: style sheets, scripts, icons, fonts and vendored libraries.
//
// Everything is embedded. One hash over all files stands in every address (/static/<hash>/css/app.css), so files may
// refer to each other by relative paths, may be cached for good, and a new build is a new address.
//
// css/app.css does not exist as a file: it is the sheets of css/ in the order of cssOrder, put together at start.
// dist/app.js is js/app.js with all that it imports, bundled by esbuild: one request a page. make generate writes it.
// vendor.json names each vendored library with version, license and checksums; static_test.go checks them.
package static
