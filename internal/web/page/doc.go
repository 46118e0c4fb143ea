// Package page is what all areas of the pages share: who calls (Call), what a page is (Page, View, Part), its frame
// with navigation and banners (Frame), its stream (live.go), flashes, the errors of forms, and values in the reader's
// language (Words).
//
// The path of a call: Frame.Show makes a Call, Page.Build reads from the services and returns a View, Frame.Reply draws
// it inside the frame. While the page is open, the stream builds the same Page again when one of its topics changes,
// and sends the parts that look different.
package page
