package e2e

import (
	"regexp"
	"testing"
)

// TestTheReferenceOfTheAPI: a developer finds an operation by typing, opens it by keyboard, unfolds a program and a
// member, and copies; nothing breaks WCAG 2.2 AA or the policy, in the light, in the dark and on a telephone.
func TestTheReferenceOfTheAPI(t *testing.T) {
	p := signIn(t, "dana", look{Width: 1366})
	p.open("/help")
	p.click("main a[href='/api/docs']")
	p.sees("#operations [data-test=operation]")
	p.accessible()
	p.shot("list")
	p.fill("#operation-search", "extend lease")
	p.do(p.assert.Locator(p.at("#operations [data-test=operation]:visible")).ToHaveCount(1))
	p.do(p.assert.Locator(p.at("#operations [data-filter-group]:visible")).ToHaveCount(1))
	p.shot("searched")
	p.fill("#operation-search", "no such thing")
	p.sees("[data-test=none-match]")
	p.fill("#operation-search", "submit-request")
	p.do(p.at("#operations [data-test=operation]:visible a").Focus())
	p.presses("Enter")
	p.do(p.assert.Page(p.page).ToHaveURL(regexp.MustCompile("/api/docs/submit-request$")))
	p.click("[data-test=doc-model] summary")
	p.sees("[data-test=doc-contextLength]")
	p.click(".gp-reference__code details summary")
	p.reads("#snippet-1", "package main")
	p.accessible()
	p.shot("operation")
	p.click("#more a[href='/api/docs/get-request']")
	p.reads("[data-test=call]", "/api/v1/requests/{id}")
}

// TestTheReferenceOfAVisitor: who has not signed in reads it on a telephone, and finds the way in.
func TestTheReferenceOfAVisitor(t *testing.T) {
	p := visit(t, look{Width: 390, Language: "de-DE", Dark: true})
	p.who = "a visitor"
	for _, path := range []string{"/api/docs", "/api/docs/submit-request"} {
		p.open(path)
		p.sees("h1")
		p.accessible()
		p.fitsTheWindow()
	}
	p.shot("operation")
	p.click("[data-test=sign-in]")
	p.do(p.assert.Page(p.page).ToHaveURL(regexp.MustCompile("/signin")))
}
