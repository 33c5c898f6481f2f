// Reports a sale: go build sender.go && ./sender ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]
// Ends with 0: on record. 1: refused, correct the sale. 2: a setting or an argument is missing.
// 75: keep the sale and run it again later; an order is never recorded twice, the answer is then
// DUPLICATE. 78: a setting is wrong (key, secret, clock, brand, address): correct it, run it again.
// Do not use `go run`: it ends with 1 whenever the program does not end with 0.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	service, path := os.Getenv("RINGBACK_URL"), "/v1/conversions"
	if service == "" {
		service = "https://ringback.example"
	}
	key, secrets := os.Getenv("RINGBACK_API_KEY"), os.Getenv("RINGBACK_SIGNING_SECRET")
	secret := strings.Split(secrets, ",")[0] // NEW,OLD during a replacement: the first one signs
	if key == "" || secret == "" || len(os.Args) < 3 || len(os.Args) > 5 {
		stop(2, "Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.")
	}
	if strings.ContainsAny(key+secret, " \t\r\n") {
		names := "RINGBACK_API_KEY or RINGBACK_SIGNING_SECRET"
		stop(2, names+" has a line break or white space in it.")
	}
	// Amounts are strings. The bytes hashed here are exactly those sent below.
	sale, names := map[string]string{}, []string{"orderId", "basketValue", "clickId", "couponCode"}
	for index, value := range os.Args[1:] {
		sale[names[index]] = value
	}
	body, err := json.Marshal(sale)
	check(err)
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	random := make([]byte, 16)
	_, err = rand.Read(random)
	check(err)
	nonce := hex.EncodeToString(random)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "POST\n%s\n%s\n%s\n%x", path, timestamp, nonce, sha256.Sum256(body))

	request, err := http.NewRequest("POST", service+path, bytes.NewReader(body))
	check(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Service-Timestamp", timestamp)
	request.Header.Set("X-Service-Nonce", nonce)
	request.Header.Set("X-Service-Signature", hex.EncodeToString(mac.Sum(nil)))
	// Follow no redirect: it would carry the API key to another address.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := http.Client{Timeout: 10 * time.Second, CheckRedirect: stay}
	response, err := client.Do(request)
	check(err)
	answer, _ := io.ReadAll(response.Body) // if it breaks off, the status still counts
	status := response.StatusCode
	fmt.Println(status, string(answer))
	kind := strings.Split(response.Header.Get("Content-Type"), ";")[0]
	isProblem := kind == "application/problem+json"
	switch {
	case kind == "application/json" && (status == 200 || status == 201):
		os.Exit(0)
	case status == 401 || status >= 300 && status < 400:
		os.Exit(78)
	case isProblem && status >= 400 && status < 500 && status != 408 && status != 429:
		os.Exit(1)
	default:
		os.Exit(75) // also for a proxy's page
	}
}

func check(err error) {
	if err != nil {
		stop(75, err.Error()) // no answer; with 1 a queue would drop the sale
	}
}

func stop(code int, reason string) {
	log.Print(reason)
	os.Exit(code)
}
