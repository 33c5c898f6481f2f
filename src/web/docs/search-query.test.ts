import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { MAX_QUERY_CHARACTERS, readQuery } from "./search-query.ts";

const words = (typed: string) => readQuery(typed, "Acme").words;

test("words are taken in lower case, without what people paste around them", () => {
	deepEqual(words("Signature"), ["signature"]);
	deepEqual(words('"code": "bad_signature",'), ["code", "bad_signature"]);
	deepEqual(words("`PARKED`, (EXPIRED)"), ["parked", "expired"]);
	deepEqual(words("X-Acme-Signature: 5f2b"), ["x-acme-signature", "5f2b"]);
	deepEqual(words("  callbacks   callback "), ["callback"]);
	deepEqual(words("status 401"), ["status", "401"], "and only what is a plural loses its end");
});

test("of a question the telling words are left; of small words alone, all", () => {
	deepEqual(words("How do I verify a signature in PHP?"), ["verify", "signature", "php"]);
	deepEqual(words("how to"), ["how", "to"]);
	deepEqual(words(" … a b c "), []);
});

test("another network's header is taken for this one's, and the reader is told", () => {
	for (const typed of [
		"X-Service-Signature",
		"x-ringback-signature",
		"HTTP_X_SERVICE_SIGNATURE",
		"X-My-Net-Signature:",
	]) {
		const query = readQuery(typed, "Acme");
		deepEqual([query.words, query.ownHeader], [["x-acme-signature"], "X-Acme-Signature"], typed);
	}
	equal(readQuery("x-acme-nonce", "Acme").ownHeader, null);
	deepEqual(words("X-Request-Id"), ["x-request-id"]);
});

test("what is too long is cut, and there are eight words at most", () => {
	const { text, words: found } = readQuery(
		Array.from({ length: 300 }, (_, at) => `w${at}`).join(" "),
		"Acme",
	);
	equal(text.length, MAX_QUERY_CHARACTERS);
	equal(found.length, 8);
});
