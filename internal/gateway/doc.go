// Package gateway lets people through to notebooks and endpoints at <workload>.<apps domain>, a site apart from the
// portal's own.
//
// The way of a browser: a page call without a cookie of this workload goes (303) to the portal, which knows who is
// signed in; Authorize asks identity.Can there and sends the browser back with a code that works once, for 30 seconds,
// for this workload and this browser; the callback turns it into a cookie that opens this one host. Programs show a
// key of the endpoint instead (keys.go), which has limits, and whose requests and tokens are counted; persons' API
// tokens open nothing here.
//
// At one host, workload.ModelsHost, a key opens all its endpoints: "model" in the body of a call of the OpenAI API says
// which (route.go).
//
// The way of a call: access.go (who, and still allowed?) -> origin.go (made by this site?) -> proxy.go (to the pod's
// address that the controller observed, with headers.go taking off what must not pass). Open connections are written
// down in exchange.go and are closed when access ends: sign-out, sharing removed, workload stopped.
//
// What is seen of a call of an endpoint on its way (measure.go) goes to a Recorder, under the key or the person.
//
// Where a gateway of the site carries calls of endpoints in place of this one, it asks CheckKey about the key of each.
//
// It leaves to others: what the workload's secret is (Secrets), where sessions are kept (Sessions), who has which role
// (Actors).
package gateway
