// Package web answers people: pages, forms and the live stream. Each area is a package of its own with its routes, its
// handlers and the services that it reads from: home, start, requests, workloads, fleet, cost, team, platform, admin,
// account, search, help. Areas do not import each other: what several draw is in blocks, what all are made of is in
// page.
//
// The path of a call: a route of an area -> its handler -> a service -> a model of plain values -> a component of
// views/<area>; page.Frame draws the frame and keeps the page up to date while it is open. Words come from i18n, in the
// reader's language; numbers, money and times go through page.Words. The pages decide no rights and no rules: they ask
// identity.Can and the services. Handlers return errors; package serve answers them.
package web
