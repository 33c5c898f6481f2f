// What was understood and cannot be done: nothing of that name, not in this state, or not now.

import type { ExplainedCode, ProblemWords } from "./explained-code.ts";

export const STATE_WORDS = {
	unknown_order: {
		example: {
			detail:
				"This programme has no SALE with order id ORDER-1001. Check the spelling, and that its POST /v1/conversions was answered RECORDED or CONFIRMED.",
			field: "orderId",
		},
		causes: [
			"The sale was never reported, or its report was refused: the inbound log shows it.",
			"The order id is spelt differently: `1001` and `ORDER-1001`, other case, a space at its end.",
			"It was reported with another `eventType`. `detail` names the ones it is known with.",
			"The key belongs to another programme.",
		],
		cure: [
			"Search for the order in Integration → *Inbound log*.",
			"If it was not reported, send `POST /v1/conversions` first, then the decision.",
		],
		retry:
			"Send it again once the sale is reported. A queue that sends decisions may run ahead of the one that sends sales: then retry for a few minutes, and give up after a day.",
	},
	unknown_conversion: {
		example: {
			detail:
				"This programme has no conversion with that id. Ids start with cnv_; to look by order, use GET /v1/conversions?orderId=…",
		},
		causes: [
			"An order id is used where a conversion id is expected.",
			"The conversion belongs to another programme.",
			"Only a pixel had reported it; it expired and was removed.",
		],
		cure: ["Look by order: `GET /v1/conversions?orderId=…`."],
		retry: "Sending it again does not help: correct the id.",
	},
	not_found: {
		example: { detail: "There is nothing at this address. Check the path: the API is below /v1/." },
		causes: [
			"The path is misspelt: `/v1/conversion` for `/v1/conversions`.",
			"A base address with a path of its own was put in front: `/api/v1/…`, `//v1/…`.",
		],
		cure: ["Compare it with the [API reference](/docs/api). The server is `https://ringback.example`."],
		retry: "Correct the path, then send it signed anew: the path is part of what is signed.",
	},
	method_not_allowed: {
		example: { detail: "DELETE is not possible here. Use GET, POST." },
		causes: [
			"PUT, PATCH or DELETE: a conversion cannot be edited or deleted, only approved, rejected or reversed.",
			"A redirect in front turned a POST into a GET.",
			"A HEAD request: neither the API nor the pixel accepts one.",
		],
		cure: [
			"The header `Allow` names the methods that the address takes.",
			"To take a sale back, send `POST /v1/reversals`.",
		],
		retry: "Correct the method, then send it signed anew: the method is part of what is signed.",
	},
	move_not_allowed: {
		example: {
			detail:
				"This conversion is REVERSED and cannot be approved. Only a conversion that is RECORDED can be approved.",
		},
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
	too_many_streams: {
		example: {
			detail:
				"The maximum number of streams is open, for this programme or in all. End another one, or try again in a minute.",
		},
		causes: [
			"`ringback listen` runs on several machines, or in a terminal that was forgotten. Five may be open for a programme.",
			"A client opens a new stream without closing the one before.",
			"A proxy keeps connections open that your client has closed.",
		],
		cure: ["End the other listeners. For a live shop use the callback instead of the stream."],
		retry: "Wait a minute between two tries.",
	},
	pixel_limited: {
		example: {
			detail:
				"12 pixel calls were not taken in the minute before this entry, because more came than the limits allow. They came from 1 network. Your server's signed requests are not affected. If these were your customers, report their orders with POST /v1/conversions and tell the network's staff.",
		},
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
	unavailable: {
		example: {
			detail:
				"The database cannot be used just now. Send the request again, signed anew: nothing is recorded twice.",
		},
		causes: [
			"The service is restarting, or its database is unavailable, usually for a few seconds.",
			"More calls wait than can be stored at the moment, or another batch of your programme is being stored.",
		],
		cure: [
			"Wait as many seconds as `Retry-After` says, then repeat. Keep the sales that you could not report.",
			"Send batches one after the other.",
		],
		retry:
			"Yes: repeat it until it succeeds, signed anew each time, and wait longer after each try. It may have been stored although the answer says otherwise; nothing is recorded twice.",
	},
	internal: {
		example: {
			detail:
				"Something failed on our side, and we have a record of it. Send the request again, signed anew: nothing is recorded twice.",
		},
		causes: ["An error on our side. Your request did not cause it."],
		cure: ["Repeat it. If the answer stays the same, tell the network's support the time and the order id."],
		retry:
			"Yes: repeat it, signed anew each time, and wait longer after each try. Nothing is recorded twice.",
	},
} as const satisfies Partial<Record<ExplainedCode, ProblemWords>>;
