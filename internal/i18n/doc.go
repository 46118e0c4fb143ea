// Package i18n holds what people read. A Text is a message by id with its arguments; services make and store Texts, and
// only the edge (web, api, mail) turns them into words: Bundle.For picks the reader's language, Localizer.Say formats.
//
// Messages live in locales/<package>.<language>.yaml, one file a package and language, as go-i18n message files; what
// puts them into words imports package locales. A test asks that every id exists in every language and that both use
// the same arguments. Notices come in more languages than pages: of those (see NoticeLanguages) there is only what a
// notice can hold, and a test of the package notify asks that nothing else remains English in one.
package i18n
