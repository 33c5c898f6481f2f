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
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const maxBodyBytes, toleranceSeconds = 65_536, 300

// One secret, or two with a comma between them while it is being replaced.
var secrets = strings.FieldsFunc(os.Getenv("RINGBACK_SIGNING_SECRET"), isComma)
var lock, nonces = sync.Mutex{}, map[string]bool{}

func isComma(letter rune) bool { return letter == ',' }

type event struct{ ConversionId, Event, OrderId, Status string }

func receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1)) // the bytes as they came
	timestamp, nonce := r.Header.Get("X-Service-Timestamp"), r.Header.Get("X-Service-Nonce")
	sentAt, notDigits := strconv.ParseUint(timestamp, 10, 40)
	age := time.Now().Unix() - int64(sentAt)
	isFresh := -toleranceSeconds <= age && age <= toleranceSeconds
	signature, notHex := hex.DecodeString(r.Header.Get("X-Service-Signature"))
	isOurs, target, digest := false, r.RequestURI, sha256.Sum256(body)
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "POST\n%s\n%s\n%s\n%x", target, timestamp, nonce, digest)
		isOurs = hmac.Equal(signature, mac.Sum(nil)) || isOurs
	}
	// The page of your programme shows the reason.
	refuse := func(status int, why string, about ...interface{}) {
		why = fmt.Sprintf(why, about...)
		log.Println(status, why, r.Method, target, len(body), "bytes", r.Header)
		http.Error(w, why, status)
	}

	var e event
	lock.Lock()
	defer lock.Unlock()
	switch {
	case r.Method != http.MethodPost:
		refuse(405, "Only POST is taken here.")
	case len(body) > maxBodyBytes:
		refuse(413, "The body is too large.")
	case notDigits != nil || nonce == "":
		refuse(401, "The timestamp or the nonce is missing.")
	case !isFresh:
		refuse(401, "The timestamp is %.0f s away from this clock.", math.Abs(float64(age)))
	case !isOurs || notHex != nil:
		refuse(401, "No secret here gives this signature for %s and %d bytes.", target, len(body))
	case nonces[nonce]:
		refuse(401, "This nonce was used before.")
	case json.Unmarshal(body, &e) != nil || e.ConversionId == "" || e.Event == "":
		refuse(400, "The body has no conversionId or no event.")
	default:
		// Hex, so that no id can be a path and no two events share a file name.
		file := fmt.Sprintf("postbacks/%x.%x.json", e.ConversionId, e.Event)
		_, missing := os.Stat(file)                 // the same event may come twice
		isNew, part := missing != nil, file+".part" // a full disk leaves half of it here
		if isNew && (os.WriteFile(part, body, 0o600) != nil || os.Rename(part, file) != nil) {
			refuse(503, "Not stored.") // 5xx: it is sent again. A 4xx would end the delivery.
			return
		}
		w.WriteHeader(204)
		if isNew {
			// Slow work goes here, so that the answer does not wait for it. Events come in any
			// order: use a status only if it ranks above the one you have (guide, rule 8).
			go fmt.Println(e.Event, e.ConversionId, e.OrderId, e.Status)
		}
		nonces[nonce] = true
		forget := func() { lock.Lock(); delete(nonces, nonce); lock.Unlock() }
		time.AfterFunc(time.Duration(toleranceSeconds-age+1)*time.Second, forget)
	}
}

func main() {
	if len(secrets) == 0 || os.MkdirAll("postbacks", 0o700) != nil {
		log.Fatal("Set RINGBACK_SIGNING_SECRET, and start in a folder that can be written to.")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(receive)))
}
