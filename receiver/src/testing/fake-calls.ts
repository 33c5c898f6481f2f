// Answers the calls of the signed API from the books of the fake service.

import type { Programme } from "../client/programme.ts";
import type { Conversion } from "../conversion-fields.ts";
import { isObject, parseJson } from "../json.ts";
import { type FakeAnswer, problem } from "./fake-answer.ts";
import {
	type FakeBooks,
	type Fields,
	moveOrder,
	programmeId,
	recordSale,
	refundOrder,
	refundsOf,
} from "./fake-books.ts";

export type { FakeAnswer } from "./fake-answer.ts";

export function answerCall(books: FakeBooks, method: string, path: string, text: string): FakeAnswer {
	const { pathname, searchParams } = new URL(path, "https://ringback.invalid");
	if (method === "GET") return answerGet(books, pathname, searchParams);
	const fields = parseJson(text);
	if (!isObject(fields)) return problem(400, "malformed_json", "The body is not a JSON object.");
	switch (pathname) {
		case "/v1/conversions":
			return recordSale(books, fields);
		case "/v1/approvals":
			return moveOrder(books, "approve", fields);
		case "/v1/rejections":
			return moveOrder(books, "reject", fields);
		case "/v1/reversals":
			return moveOrder(books, "reverse", fields);
		case "/v1/refunds":
			return refundOrder(books, fields);
		case "/v1/conversions/batch":
			return answerBatch(fields, (item) => recordSale(books, item));
		case "/v1/decisions/batch":
			return answerBatch(fields, (item) => decideItem(books, item));
		default:
			return problem(404, "not_found", "The fake service does not know this address.");
	}
}

function decideItem(books: FakeBooks, { decision, ...fields }: Fields): FakeAnswer {
	if (decision === "approve" || decision === "reject" || decision === "reverse") {
		return moveOrder(books, decision, fields);
	}
	if (decision === "refund") return refundOrder(books, fields);
	return problem(422, "invalid_field", "decision must be approve, reject, reverse or refund.", "decision");
}

function answerBatch({ items }: Fields, answerItem: (item: Fields) => FakeAnswer): FakeAnswer {
	if (!Array.isArray(items)) return problem(422, "invalid_field", "items must be a list.", "items");
	const results = items.map((item: unknown) => {
		const { status, body } = answerItem(isObject(item) ? item : {});
		return status < 400 ? body : { problem: body };
	});
	return { status: 200, body: { results } };
}

/** Answers a GET request. A list of conversions is always one page. */
function answerGet(books: FakeBooks, pathname: string, query: URLSearchParams): FakeAnswer {
	const [, id] = /^\/v1\/conversions\/(\w+)$/.exec(pathname) ?? [];
	if (id !== undefined) {
		const conversion = [...books.conversions.values()].find((one) => one.id === id);
		if (conversion === undefined) return problem(404, "unknown_conversion", "There is no such conversion.");
		return { status: 200, body: { conversion, refunds: refundsOf(books, conversion) } };
	}
	if (pathname === "/v1/programme") return { status: 200, body: { programme: describeProgramme(books) } };
	if (pathname !== "/v1/conversions") {
		return problem(404, "not_found", "The fake service does not know this address.");
	}
	const found = [...books.conversions.values()].filter((conversion) => isWanted(conversion, query));
	const changedFrom = query.get("changedFrom");
	const conversions =
		changedFrom === null
			? found.reverse()
			: found.sort((one, other) => Date.parse(one.updatedAt) - Date.parse(other.updatedAt));
	return { status: 200, body: { conversions, nextCursor: null } };
}

function describeProgramme({ currency }: FakeBooks): Programme {
	return {
		id: programmeId,
		name: "Fake programme",
		currency,
		basketRule: "TOTAL",
		basketRuleText: "What the customer pays.",
		approvalDays: 30,
		creditsPartners: false,
		clickParameter: "rbclick",
		clickDays: 30,
	};
}

function isWanted(conversion: Conversion, query: URLSearchParams): boolean {
	const { status, orderId, createdAt, occurredAt, updatedAt } = conversion;
	const fits = (name: string, test: (wanted: string) => boolean) => {
		const wanted = query.get(name);
		return wanted === null || test(wanted);
	};
	const isFrom = (time: string) => (from: string) => Date.parse(time) >= Date.parse(from);
	const isBefore = (time: string) => (before: string) => Date.parse(time) < Date.parse(before);
	return (
		fits("status", (wanted) => wanted === status) &&
		fits("orderId", (wanted) => wanted === orderId) &&
		fits("recordedFrom", isFrom(createdAt)) &&
		fits("recordedBefore", isBefore(createdAt)) &&
		fits("occurredFrom", isFrom(occurredAt)) &&
		fits("occurredBefore", isBefore(occurredAt)) &&
		// The list of changes has only conversions that changed after they were recorded.
		fits("changedFrom", (from) => updatedAt !== createdAt && isFrom(updatedAt)(from))
	);
}
