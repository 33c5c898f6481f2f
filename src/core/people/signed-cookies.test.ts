import { equal, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { createKeyRing } from "../domain/key-ring.ts";
import { areCookiesSecure, cookieName, createSigner } from "./signed-cookies.ts";

const KEY = createKeyRing([new Uint8Array(32).fill(7)]);
const OTHER_KEY = createKeyRing([new Uint8Array(32).fill(8)]);
const TEXT = "person 1";
const signature = createSigner(KEY, "devices").sign(TEXT);

for (const [what, key, use, given, text, isTaken] of [
	["the same text, key and use", KEY, "devices", signature, TEXT, true],
	["another text", KEY, "devices", signature, "person 2", false],
	["another key", OTHER_KEY, "devices", signature, TEXT, false],
	["use in flash messages", KEY, "flash", signature, TEXT, false],
	["nothing", KEY, "devices", "", TEXT, false],
	["its beginning", KEY, "devices", signature.slice(0, -1), TEXT, false],
	["more than all of it", KEY, "devices", `${signature}A`, TEXT, false],
	["characters of two bytes", KEY, "devices", "ä".repeat(signature.length), TEXT, false],
] as const) {
	test(`a signature of a device cookie is ${isTaken ? "accepted" : "refused"} with ${what}`, () => {
		equal(createSigner(key, use).isSignature(given, text), isTaken);
	});
}

test("a signature needs no encoding in a cookie or an address, and differs for different texts", () => {
	equal(/^[\w-]{43}$/.test(signature), true);
	notEqual(createSigner(KEY, "devices").sign("person 2"), signature);
});

for (const [publicUrl, isSecure, name] of [
	["https://ringback.example", true, "__Host-ringback.flash"],
	["http://localhost:8080", false, "ringback.flash"],
] as const) {
	test(`at ${publicUrl} a cookie is called ${name}`, () => {
		equal(cookieName(publicUrl, "flash"), name);
		equal(areCookiesSecure(publicUrl), isSecure);
	});
}
