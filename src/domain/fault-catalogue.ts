// Every fault that a caller of the API can meet, once: its HTTP status, the sentence of the answer, what it means, why it
// is answered and what to do. The API's answers, the OpenAPI document, the pages below /problems and the table in
// docs/api.md are made from it. Codes are part of the API: they are added, never renamed.

/** Texts are Markdown, a line each, with the brand Service and an address that no service has: pages fill in their own. */
export interface ExplainedFault {
	status: number;
	meaning: string;
	/** The answer's sentence, where it is the same for all. A place as `{name:example}` is filled by the code that refuses. */
	detail: string;
	/** The field it is about, where that is always the same; else it is the place `field`. */
	field?: string;
	/** The likeliest first. */
	causes: readonly string[];
	/** The first one stands alone in the API reference. */
	cure: readonly string[];
	/** What may be sent again, and what may not; left out where it is what holds for most. */
	retry?: string;
}

/** By which calls can answer them: the operations of the OpenAPI document name the kinds that they have. */
export const FAULTS_BY_KIND = {
	/** Every signed call: who is calling, and is it really them. In the order in which a call is checked. */
	caller: {
		missing_api_key: {
			status: 401,
			meaning: "There is no API key.",
			detail: "Send the programme's API key in the header Authorization: Bearer <API key>.",
			causes: [
				"The variable that holds the key is empty where the code runs: it is set in your shell and not in the service or container.",
				"The key is sent in another header, or without the word `Bearer` in front of it.",
				"A proxy between your server and us removes `Authorization`.",
			],
			cure: [
				"Send `Authorization: Bearer rbk_…` with every request below `/v1/`.",
				"Log the names of the headers (not the key) right before the request is sent.",
			],
		},
		unknown_api_key: {
			status: 401,
			meaning: "No programme has this API key.",
			detail: "This API key is not known here. Check that it was copied whole, or issue a new one.",
			causes: [
				"The key was copied without its beginning or its end, or with a line break.",
				"It is the signing secret (`rbs_…`) instead of the API key (`rbk_…`).",
				"It belongs to another installation: a test system, or another network.",
			],
			cure: [
				"Compare the first characters with the list under Integration → *Keys and snippets*.",
				"If the key is lost, issue a new one there: a key is shown only once.",
			],
		},
		revoked_api_key: {
			status: 401,
			meaning: "This API key was revoked.",
			detail: "This API key has been revoked. Issue a new one.",
			causes: [
				"Somebody revoked the key under Integration → *Keys and snippets*, and a server still uses it.",
				"One of several servers still has the old key.",
			],
			cure: [
				"Issue a new key and give it to every server that sends requests. The signing secret stays the same.",
			],
			retry: "Send what was refused again with the new key, signed anew. A revoked key cannot be restored.",
		},
		missing_signature_header: {
			status: 401,
			meaning: "One of the three signature headers is missing.",
			detail: "The header {header:X-Service-Nonce} is missing. A signed request has all three.",
			causes: [
				"The code sends the API key alone. Every request is signed as well, GET requests too.",
				"The headers carry another network's name. Here they begin with `X-Service-`.",
				"A proxy or gateway removes headers that it does not know.",
			],
			cure: [
				"Send all three: timestamp, nonce and signature. `detail` names the missing one.",
				"Start from the [sender in your language](/docs#requests-to-us), which sends them.",
			],
		},
		malformed_timestamp: {
			status: 401,
			meaning: "The timestamp is not all digits.",
			detail: "{header:X-Service-Timestamp} must be Unix time in seconds: digits only.",
			causes: [
				"A date or an ISO time is sent instead of Unix time.",
				"The number has decimals: in some languages `time()` returns a fraction.",
			],
			cure: ["Send whole seconds since 1970, for example `1772442000`, and sign the same digits."],
		},
		stale_timestamp: {
			status: 401,
			meaning: "The timestamp is more than 300 seconds away from our clock.",
			detail:
				"{header:X-Service-Timestamp} is more than {tolerance:300} seconds away from our clock ({now:1772366400}). Set the sender's clock, and sign at the moment of sending.",
			causes: [
				"The sender's clock is wrong. In containers and virtual machines the host's clock counts.",
				"The request was signed, then waited in a queue, and was sent later.",
				"A repeated request carries the timestamp of the first try.",
				"The timestamp is in milliseconds.",
			],
			cure: [
				"Synchronise the clock with NTP. `detail` has our time in seconds: compare it with `date +%s` on your server.",
				"Sign right before sending. Put the order into your queue, not the signed request.",
			],
		},
		malformed_nonce: {
			status: 401,
			meaning: "The nonce is too short, too long, or has other characters than letters, digits, `-` and `_`.",
			detail:
				'{header:X-Service-Nonce} must be 8 to 128 letters, digits, "-" or "_": best 32 random hex digits.',
			causes: [
				"The nonce is base64, with `+`, `/` or `=` in it.",
				"It is a counter with fewer than eight digits.",
			],
			cure: ["Send 16 random bytes as hex, or a UUID."],
		},
		no_signing_secret: {
			status: 401,
			meaning: "The programme has no signing secret.",
			detail: "This programme has no signing secret. It comes with the first API key: issue one.",
			causes: ["The programme's signing secret was never issued, or it has been removed."],
			cure: [
				"Issue an API key under Integration → *Keys and snippets*: the first one comes with the secret.",
			],
		},
		bad_signature: {
			status: 401,
			meaning: "The signature does not match.",
			detail:
				"{header:X-Service-Signature} does not match. Sign method, path with query, timestamp, nonce and the SHA-256 of the body bytes exactly as sent; here they were {method:POST} {target:/v1/conversions} with a body digest of {digest:f01a5df356f9d8ffde1dc37b2ac55f09d7d11dea57d79b5ec50dbeb6e90d7e32}.",
			causes: [
				"The body was serialised twice: once to sign it, once more by the HTTP library to send it. Spaces, order or escapes differ.",
				"The path was signed without its query, or with the host in front of it.",
				"The secret is wrong: it belongs to another programme, has ended, or was read with a line break at its end.",
				"The signature is base64, or the parts are not joined by single line feeds.",
			],
			cure: [
				"Hash the body that you send and compare it with the digest in `detail`. If they differ, it is the body.",
				"Compare method and path with those in `detail`. If they differ, it is the path.",
				"If both are the same, it is the secret, the timestamp, the nonce or how they are joined. Paste the request into Integration → *Check a signature*: it tries the usual mistakes, and shows the text that we expected to be signed.",
			],
		},
		replayed_nonce: {
			status: 401,
			meaning: "This nonce was used before.",
			detail: "This nonce was used before. Sign every request, also a repeated one, with a new nonce.",
			causes: [
				"An HTTP library or a proxy repeated the request by itself after a lost answer.",
				"Your own retry sends the stored request again instead of signing it anew.",
				"The nonce comes from a generator that starts with the same value in every process.",
			],
			cure: [
				"Sign every try anew: make the nonce, the timestamp and the signature inside the retry loop.",
				"Turn off automatic retries of the HTTP library, or let them sign.",
			],
			retry:
				"The first request was probably accepted. Send it again, signed anew: a sale that was accepted is answered `DUPLICATE`, a decision the same as the first time. Nothing is recorded twice.",
		},
	},
	/** Every call with a body. */
	body: {
		body_too_large: {
			status: 413,
			meaning: "The body has more than 64 KiB (a batch: 256 KiB).",
			detail:
				"The body may have at most {bytes:65536} bytes. {advice:Send one report per request, with its fields alone.}",
			causes: [
				"The whole order is sent, with items, addresses and customer, instead of the fields in the API reference.",
				"Several sales are sent as a list to a call that takes one.",
				"A batch has more than 256 KiB.",
			],
			cure: [
				"Send one sale in a request, with only the fields of [the call](/docs/api#report-a-sale-or-confirm-what-a-pixel-reported).",
				"For many sales use `POST /v1/conversions/batch`, up to 500 in a call.",
			],
		},
		unsupported_media_type: {
			status: 415,
			meaning: "The body is not sent as plain JSON.",
			detail: "Send the body as JSON in UTF-8, uncompressed, with Content-Type: application/json.",
			causes: [
				"The HTTP library sends a form (`application/x-www-form-urlencoded`), its default.",
				"The header `Content-Type` is missing.",
				"The body is compressed, or its charset is another one than UTF-8.",
			],
			cure: ["Set `Content-Type: application/json`, and send the JSON text as it was signed, uncompressed."],
		},
		malformed_json: {
			status: 400,
			meaning: "The body is not a JSON object, or was cut off.",
			detail: "The body is not valid JSON in UTF-8. Sign and send the same valid bytes.",
			causes: [
				"The body was put together by hand: a quote or a comma is missing, or a name in the order has a quote in it.",
				"The body is empty, or a list where an object is expected.",
				"The text is in Latin-1, so that an umlaut is not valid UTF-8.",
				"The connection broke off before the end of the body.",
			],
			cure: ["Let your language's JSON library write the body, keep the text, and sign and send that text."],
		},
	},
	/** Every call with fields, in its body or its query. */
	fields: {
		invalid_field: {
			status: 422,
			meaning: "A field is missing, or is not what it must be.",
			detail: "{field:orderId} is missing. Send it as {kind:a string}.",
			causes: [
				"A required field is missing or null: `field` names it.",
				"A value has the wrong type: an order id as a number, `test` as a word.",
				"An order id begins or ends with a space, or has an invisible character in it.",
				"`occurredAt` has no time zone, or is in the future.",
				"A field appears twice in the body or in the query.",
			],
			cure: [
				"`field` names the field and `detail` says what to send. The [API reference](/docs/api) has every field.",
			],
		},
		unknown_field: {
			status: 422,
			meaning: "There is no such field here.",
			detail:
				"{field:orderID} is not a field {where:here. Known are orderId, eventType, basketValue, currency, occurredAt, test}.",
			causes: [
				"A name is spelt differently: `orderID`, `order_id`, `amount` for `basketValue`.",
				"An approval is sent with a `reason`; only rejections and reversals have one.",
				"The body has more than the call takes: fields that we do not know are refused rather than ignored.",
			],
			cure: ["Use the names that `detail` lists, and leave the others out."],
		},
	},
	/** A sale, or its amount. */
	sale: {
		amount_not_a_string: {
			status: 422,
			meaning: "The amount is a JSON number.",
			detail:
				'{field:basketValue} must be a string such as "129.90". A JSON number can lose cents on its way.',
			causes: ["The amount is a number in your language, and its JSON library writes it without quotes."],
			cure: ['Format the amount as text before it goes into the body: `"basketValue": "129.90"`.'],
		},
		malformed_amount: {
			status: 422,
			meaning: "The amount is not a decimal number.",
			detail:
				'{field:basketValue} must be digits with a point before the decimals, such as {example:"129.90"}.',
			causes: [
				"The amount is formatted for people: `1.299,00`, `129,90`, `€129.90`. Or it is empty.",
				"A placeholder was not replaced: the pixel still says `AMOUNT`, or your template did not run.",
			],
			cure: [
				"Send digits and a point: `129.90`. No thousands separator, no comma, no currency sign.",
				"In a [pixel](/docs#the-pixel): let your shop's template write the amount of the order.",
			],
		},
		negative_amount: {
			status: 422,
			meaning: "The amount is below zero.",
			detail: "{field:basketValue} must not be negative. Report a return as a reversal.",
			causes: ["A credit note or a return is reported as a sale with a negative amount."],
			cure: ["Report a return with `POST /v1/reversals` and the order's id."],
		},
		amount_too_precise: {
			status: 422,
			meaning: "The amount has more decimals than its currency.",
			detail:
				"{field:basketValue} has {decimals:3} decimals, but {currency:EUR} has {digits:2}. Round it and send it again.",
			causes: [
				"The amount is the result of a calculation, such as a price without tax, and was not rounded.",
				"The currency has no decimals, as JPY, and the amount has.",
			],
			cure: ["Round to the decimals of the programme's currency before you send it."],
		},
		amount_too_large: {
			status: 422,
			meaning: "The amount has more than 12 digits before the point.",
			detail: "{field:basketValue} may have at most {digits:12} digits before the point.",
			causes: ["The amount is in a smaller unit than it should be, or another number stands in its field."],
			cure: ["Check which value your code sends as `basketValue`."],
		},
		unknown_currency: {
			status: 422,
			meaning: "The currency is not in ISO 4217.",
			detail: '"{currency:eur}" is not an ISO 4217 currency code. Use three capital letters such as EUR.',
			field: "currency",
			causes: ["The code is in lower case, or it is a sign such as `€`."],
			cure: ["Send three capital letters, or leave `currency` out: the programme's currency is then used."],
		},
		wrong_currency: {
			status: 422,
			meaning: "The programme has another currency.",
			detail: "This programme is in {currency:EUR}. Convert the amount, or leave currency out.",
			field: "currency",
			causes: ["A customer paid in another currency, and your shop reports that amount."],
			cure: [
				"Convert the amount to the programme's currency, at the exchange rate of your books.",
				"Leave `currency` out only if the amount is in the programme's currency already.",
			],
		},
	},
	"event type": {
		unknown_event_type: {
			status: 422,
			meaning: "There is no such event type.",
			detail: "eventType must be one of {known:SALE, LEAD, SIGNUP, SUBSCRIPTION, RENEWAL, INSTALL, OTHER}.",
			field: "eventType",
			causes: ["The value is in lower case, or not one of those that we know."],
			cure: ["Send one of the values listed in `detail`, in capitals. Without `eventType` it is `SALE`."],
		},
	},
	/** Of a rejection or a reversal. */
	reason: {
		missing_reason: {
			status: 422,
			meaning: "A rejection or reversal needs a reason.",
			detail:
				"A reason is needed here: one of {known:RETURN, CANCELLED, PAYMENT_FAILED, CHARGEBACK, OUT_OF_STOCK, DUPLICATE, FRAUD, TERMS_VIOLATION, SELF_REFERRAL, OTHER_CHANNEL, INVALID_LEAD, TEST_ORDER, TRACKING_ERROR, OTHER}.",
			field: "reason",
			causes: ["A rejection or a reversal was sent without `reason`."],
			cure: ["Send one of the reasons listed in `detail`. If none fits: `OTHER`."],
		},
		unknown_reason: {
			status: 422,
			meaning: "There is no such reason.",
			detail:
				"reason must be one of {known:RETURN, CANCELLED, PAYMENT_FAILED, CHARGEBACK, OUT_OF_STOCK, DUPLICATE, FRAUD, TERMS_VIOLATION, SELF_REFERRAL, OTHER_CHANNEL, INVALID_LEAD, TEST_ORDER, TRACKING_ERROR, OTHER}.",
			field: "reason",
			causes: ["The reason is in your own words, or in lower case."],
			cure: ["Translate your reasons into those listed in `detail`. If none fits: `OTHER`."],
		},
	},
	cursor: {
		malformed_cursor: {
			status: 422,
			meaning: "The cursor is not one of ours.",
			detail:
				"This cursor is not one of ours. Take nextCursor from the page before, as it is, or leave it out to start again.",
			field: "cursor",
			causes: [
				"The cursor was changed on its way: cut off, or not encoded in the query.",
				"It belongs to another programme, or to a list with other filters.",
				"The network has restored a backup from before it.",
			],
			cure: [
				"Pass on `nextCursor` exactly as it was answered, with the same filters, URL-encoded.",
				"Otherwise leave it out and start at the beginning; you recognise what you have read before by its `id`.",
			],
		},
	},
	decision: {
		unknown_order: {
			status: 404,
			meaning: "The programme has no such order of that event type.",
			detail:
				"This programme has no {eventType:SALE} with order id {orderId:ORDER-1001}. Check the spelling, and that its POST /v1/conversions was answered RECORDED or CONFIRMED.",
			field: "orderId",
			causes: [
				"The sale was never reported, or its report was refused: the inbound log shows it.",
				"The order id is spelt differently: `1001` and `ORDER-1001`, other case, a space at its end.",
				"It was reported with another `eventType`. `detail` names the ones it is known with.",
				"The key belongs to another programme.",
			],
			cure: [
				"Check the spelling of the order id and the event type: Integration → *Inbound log* shows what was reported.",
				"If it was not reported, send `POST /v1/conversions` first, then the decision.",
			],
			retry:
				"Send it again once the sale is reported. A queue that sends decisions may run ahead of the one that sends sales: then retry for a few minutes, and give up after a day.",
		},
		move_not_allowed: {
			status: 409,
			meaning: "The conversion's present status does not allow it.",
			detail:
				"This conversion is {status:REVERSED} and cannot be {done:approved}. {advice:Only a conversion that is RECORDED can be approved.}",
			causes: [
				"It was decided before: by you, by the review team, or automatically at the end of the approval window.",
				"A rejection came after the approval. What is approved can be reversed, not rejected.",
				"It is `PARKED`: a pixel reported it, and your server has not confirmed it yet.",
			],
			cure: [
				"`detail` names the present status. Update your own records to match; `GET /v1/conversions?orderId=…` has the rest.",
				"To take back an approved sale, send `POST /v1/reversals`.",
				"Confirm a parked one with `POST /v1/conversions`, then decide.",
			],
			retry:
				"Do not retry: rejected and reversed are final. (The same decision sent twice is no problem; it is answered as the first time.)",
		},
	},
	"one conversion": {
		unknown_conversion: {
			status: 404,
			meaning: "The programme has no conversion with that id.",
			detail:
				"This programme has no conversion with that id. Ids start with cnv_; to look by order, use GET /v1/conversions?orderId=…",
			causes: [
				"An order id is used where a conversion id is expected.",
				"The conversion belongs to another programme.",
				"Only a pixel had reported it; it expired and was removed.",
			],
			cure: ["Look by order: `GET /v1/conversions?orderId=…`."],
		},
	},
	stream: {
		too_many_streams: {
			status: 429,
			meaning: "The maximum number of streams is open, for the programme or in all.",
			detail:
				"The maximum number of streams is open, for this programme or in all. End another one, or try again in a minute.",
			causes: [
				"`ringback listen` runs on several machines, or in a terminal that was forgotten. Five may be open for a programme.",
				"A client opens a new stream without closing the one before.",
				"A proxy keeps connections open that your client has closed.",
			],
			cure: ["End the other listeners. For a live shop use the callback instead of the stream."],
			retry: "Wait a minute between two tries.",
		},
	},
	/** No call: an address or a method that is not there. */
	elsewhere: {
		not_found: {
			status: 404,
			meaning: "There is nothing at this address.",
			detail: "There is nothing at this address. Check the path: the API is below /v1/.",
			causes: [
				"The path is misspelt: `/v1/conversion` for `/v1/conversions`.",
				"A base address with a path of its own was put in front: `/api/v1/…`, `//v1/…`.",
			],
			cure: [
				"Check the path: it begins with `/v1/`. The [API reference](/docs/api) has every one.",
				"The server is `https://ringback.example`.",
			],
		},
		method_not_allowed: {
			status: 405,
			meaning: "The address does not take this method.",
			detail: "{method:DELETE} is not possible here. Use {allow:GET, POST}.",
			causes: [
				"PUT, PATCH or DELETE: a conversion cannot be edited or deleted, only approved, rejected or reversed.",
				"A redirect in front turned a POST into a GET.",
				"A HEAD request: neither the API nor the pixel accepts one.",
			],
			cure: [
				"The header `Allow` names the methods that the address takes.",
				"To take a sale back, send `POST /v1/reversals`.",
			],
		},
	},
	/** Every call: our own trouble. */
	own: {
		internal: {
			status: 500,
			meaning: "Something failed on our side.",
			detail:
				"Something failed on our side, and we have a record of it. Send the request again, signed anew: nothing is recorded twice.",
			causes: ["An error on our side. Your request did not cause it."],
			cure: [
				"Repeat it. If the answer stays the same, tell the network's support the time and the order id.",
			],
			retry:
				"Yes: repeat it, signed anew each time, and wait longer after each try. Nothing is recorded twice.",
		},
		unavailable: {
			status: 503,
			meaning: "The service is not available at the moment.",
			detail:
				"The database cannot be used just now. Send the request again, signed anew: nothing is recorded twice.",
			causes: [
				"The service is restarting, or its database is unavailable, usually for a few seconds.",
				"More calls wait than can be stored at the moment, or another batch of your programme is being stored.",
				"The service is not sure of the time, so it cannot judge a timestamp. That lasts until its operator has set a clock.",
			],
			cure: [
				"Wait as many seconds as `Retry-After` says, then repeat. Keep the sales that you could not report.",
				"Send batches one after the other.",
			],
			retry:
				"Yes: repeat it until it succeeds, signed anew each time, and wait longer after each try. It may have been stored although the answer says otherwise; nothing is recorded twice.",
		},
	},
	/** No answer has it: a pixel call gets its image, and the inbound log a row. */
	"inbound log": {
		pixel_limited: {
			status: 429,
			meaning: "More pixel calls came than the limits allow, and some were not taken.",
			detail:
				"{calls:12 pixel calls were} not taken in the minute before this entry, because more came than the limits allow.{from: They came from 1 network.} Your server's signed requests are not affected. If these were your customers, report their orders with POST /v1/conversions and tell the network's staff.",
			causes: [
				"Somebody calls your pixel's address over and over: it can be read in your thank-you page.",
				"The pixel stands on a page that is opened far more often than orders are made.",
				"A campaign brought more orders at once than [the limits](/docs#the-pixel) allow.",
			],
			cure: [
				"Report each order from your server as well: what it reports counts, with or without the pixel.",
				"If the calls were your customers', tell the network's staff.",
			],
			retry:
				"Those pixel calls are lost; the browsers got their image all the same. Report the orders of that minute with `POST /v1/conversions`.",
		},
	},
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExplainedFault>>>>;
