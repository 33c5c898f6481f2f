// Receives status callbacks: PORT=8080 go run receiver.go, behind your TLS proxy. Makes a file of
// each. For good: a table with a unique key in place of stored and the files, one for the nonces.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const maxBodyBytes, toleranceSeconds = 65_536, 300

var secret, lock = os.Getenv("RINGBACK_SIGNING_SECRET"), sync.Mutex{}
var stored, nonces = map[string]bool{}, map[string]bool{}

type event struct{ ConversionId, Event, OrderId, Status string }

func (e event) key() string { return filepath.Base(e.ConversionId + "." + e.Event + ".json") }

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
	case !isFresh || !isOurs || nonces[nonce]:
		w.WriteHeader(401)
	case json.Unmarshal(body, &e) != nil || e.ConversionId == "" || e.Event == "":
		w.WriteHeader(400)
	case !stored[e.key()] && os.WriteFile("postbacks/"+e.key(), body, 0o600) != nil:
		w.WriteHeader(503) // 5xx: it is sent again. A 4xx would end the delivery.
	default:
		w.WriteHeader(204)
		if !stored[e.key()] { // the same event may come twice
			// The slow work: beside the answer, not before it.
			go fmt.Println(e.Event, e.ConversionId, e.OrderId, e.Status)
		}
		stored[e.key()], nonces[nonce] = true, true
		forget := func() { lock.Lock(); delete(nonces, nonce); lock.Unlock() }
		time.AfterFunc(time.Duration(toleranceSeconds-age+1)*time.Second, forget)
	}
}

func main() {
	if secret == "" || os.MkdirAll("postbacks", 0o700) != nil {
		panic("Set RINGBACK_SIGNING_SECRET, and start in a folder that can be written to.")
	}
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(receive)))
}
