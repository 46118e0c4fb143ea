// Package web answers people: pages, forms and the live stream. A handler asks who calls, what they want, calls the
// package that knows, turns the answer into a model of plain values, and renders a component of views with it. Handlers
// return errors; serve answers them.
//
// One builder per part (workloadRow, requestRow, …) makes the model that the page, the htmx answer and the live message
// all draw with the same component. Words come from i18n, in the reader's language; numbers, money and times go through
// format.go.
//
// The path of data: route table (routes.go) -> handler (one file for each area) -> service -> model -> views/<area>;
// live.go draws the same parts again when the hub says that something changed. web decides no rights and no rules: it
// asks identity.Can and the services.
package web
