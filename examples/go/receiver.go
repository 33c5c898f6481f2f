// Receives status callbacks: PORT=3000 go run receiver.go, behind your TLS proxy. Stores each in
// a file. In production: use a table with a unique key in place of the files, and one for nonces.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const maxBodyBytes, toleranceSeconds = 65_536, 300

var secret, lock = os.Getenv("RINGBACK_SIGNING_SECRET"), sync.Mutex{}
var nonces = map[string]bool{}

type event struct{ ConversionId, Event, OrderId, Status string }

func receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1)) // the bytes as they came
	timestamp, nonce := r.Header.Get("X-Service-Timestamp"), r.Header.Get("X-Service-Nonce")
	sentAt, notDigits := strconv.ParseUint(timestamp, 10, 40)
	age := time.Now().Unix() - int64(sentAt)
	isFresh := notDigits == nil && -toleranceSeconds <= age && age <= toleranceSeconds
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "POST\n%s\n%s\n%s\n%x", r.RequestURI, timestamp, nonce, sha256.Sum256(body))
	signature, notHex := hex.DecodeString(r.Header.Get("X-Service-Signature"))
	isOurs := notHex == nil && hmac.Equal(signature, mac.Sum(nil))

	var e event
	lock.Lock()
	defer lock.Unlock()
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(405)
	case len(body) > maxBodyBytes:
		w.WriteHeader(413)
	case !isFresh || !isOurs || nonce == "" || nonces[nonce]:
		w.WriteHeader(401)
	case json.Unmarshal(body, &e) != nil || e.ConversionId == "" || e.Event == "":
		w.WriteHeader(400)
	default:
		// Hex, so that no id can be a path and no two events share a file name.
		file := fmt.Sprintf("postbacks/%x.%x.json", e.ConversionId, e.Event)
		_, missing := os.Stat(file)                 // the same event may come twice
		isNew, part := missing != nil, file+".part" // a full disk leaves half of it here
		if isNew && (os.WriteFile(part, body, 0o600) != nil || os.Rename(part, file) != nil) {
			w.WriteHeader(503) // 5xx: it is sent again. A 4xx would end the delivery.
			return
		}
		w.WriteHeader(204)
		if isNew {
			// Slow work goes here, so that the answer does not wait for it.
			go fmt.Println(e.Event, e.ConversionId, e.OrderId, e.Status)
		}
		nonces[nonce] = true
		forget := func() { lock.Lock(); delete(nonces, nonce); lock.Unlock() }
		time.AfterFunc(time.Duration(toleranceSeconds-age+1)*time.Second, forget)
	}
}

func main() {
	if secret == "" || os.MkdirAll("postbacks", 0o700) != nil {
		log.Fatal("Set RINGBACK_SIGNING_SECRET, and start in a folder that can be written to.")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(receive)))
}
