// Keeps the click ID of a partner's link: PORT=3000 go run click.go, behind your TLS proxy.
// In production: the same two steps in your shop's own handlers.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
)

var isClickId = regexp.MustCompile(`^[\w.-]{1,400}$`).MatchString

func shop(w http.ResponseWriter, r *http.Request) {
	// On every page: keep the click ID, if the visitor comes by a partner's link.
	clicked := r.URL.Query().Get("rbclick")
	if isClickId(clicked) {
		http.SetCookie(w, &http.Cookie{
			Name: "rbclick", Value: clicked, Path: "/", MaxAge: 2592000,
			HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode,
		})
	}
	// At the checkout: send it with the signed sale, as "clickId" beside "orderId".
	clickId := "none"
	if isClickId(clicked) {
		clickId = clicked
	} else if kept, err := r.Cookie("rbclick"); err == nil && isClickId(kept.Value) {
		clickId = kept.Value
	}
	fmt.Fprintln(w, "clickId:", clickId)
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(shop)))
}
