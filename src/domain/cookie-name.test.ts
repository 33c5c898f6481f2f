import { equal } from "node:assert/strict";
import { test } from "node:test";
import { areCookiesSecure, cookieName } from "./cookie-name.ts";

for (const [publicUrl, isSecure, name] of [
	["https://ringback.example", true, "__Host-ringback.flash"],
	["http://localhost:8080", false, "ringback.flash"],
] as const) {
	test(`at ${publicUrl} a cookie is called ${name}`, () => {
		equal(cookieName(publicUrl, "flash"), name);
		equal(areCookiesSecure(publicUrl), isSecure);
	});
}
