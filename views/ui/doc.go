// Package ui holds the controls that pages are built from: button, field, table, state, meter, dialog, notice and so
// on.
//
// Each component takes one model of plain values: words already in the reader's language, numbers already formatted,
// rights already decided. A component calls nothing. The few words that belong to a control itself ("Copy", "Close")
// come from the Localizer in the context, see WithLocalizer. format.go turns times, durations, numbers and money into
// the words that models carry, so that they read the same on every page.
//
// Controls use PatternFly 6 classes, which both our page and the OpenShift console bring along; what PatternFly does
// not have is named gp-… and stands in static/css. No component writes a style attribute: sizes are attributes of SVG.
//
// Ids are given by the caller and are unique on a page. Where a control needs no id it has none.
package ui
