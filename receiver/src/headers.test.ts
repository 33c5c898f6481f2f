import assert from "node:assert/strict";
import { test } from "node:test";
import { type PostbackHeaders, readHeader } from "./headers.ts";

const found: [string, PostbackHeaders][] = [
	["a web Headers", new Headers({ "X-Service-Nonce": "ab12" })],
	["any object with a get method", { get: (name: string) => (name === "x-service-nonce" ? "ab12" : null) }],
	["a record in lower case", { "x-service-nonce": "ab12" }],
	["a record in upper case", { "X-SERVICE-NONCE": "ab12" }],
	["a record with a list of one", { "X-Service-Nonce": ["ab12"] }],
	["a record with an undefined twin", { "x-service-nonce": undefined, "X-Service-Nonce": "ab12" }],
	["a record that holds a header named get", { get: "x", "X-Service-Nonce": "ab12" }],
];
for (const [form, headers] of found) {
	test(`a header is found in ${form}`, () => assert.equal(readHeader(headers, "X-Service-Nonce"), "ab12"));
}

const absent: [string, PostbackHeaders][] = [
	["an empty web Headers", new Headers()],
	["an empty record", {}],
	["an undefined value", { "x-service-nonce": undefined }],
	["an empty value", { "x-service-nonce": "" }],
	["an empty list", { "x-service-nonce": [] }],
	["a longer name", { "x-service-nonce-2": "ab12" }],
];
for (const [form, headers] of absent) {
	test(`a header is missing with ${form}`, () =>
		assert.equal(readHeader(headers, "X-Service-Nonce"), undefined));
}

test("a repeated header is one joined value, in every form", () => {
	const twice = new Headers([
		["x-service-nonce", "ab"],
		["x-service-nonce", "cd"],
	]);
	const forms = [
		twice,
		{ "x-service-nonce": ["ab", "cd"] },
		{ "x-service-nonce": "ab", "X-Service-Nonce": "cd" },
	];
	for (const headers of forms) assert.equal(readHeader(headers, "X-Service-Nonce"), "ab, cd");
});
