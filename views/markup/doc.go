// Package markup writes HTML without a template, for what a page has hundreds of: cells, states, bars, times. A
// template formats and copies each word that it writes, and puts two values into the context for each component; here
// words are escaped straight into one buffer, and a component within another is a call.
//
// What is written is what templ would write: attributes in double quotes, text and values escaped as html.EscapeString
// does. Pages and whatever stands on them a few times stay templates, which are easier to read and to change.
package markup
