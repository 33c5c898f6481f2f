import { equal } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { quote } from "./delivery-page.ts";

test("a shell reads every quoted word unchanged, and a plain word needs no quotes", () => {
	for (const word of [
		"/home/it's mine/",
		"",
		"a b",
		"$(id)`id`",
		"*?[a]~",
		"a\nb",
		'"\\',
		"-x;#&|<>",
		"ä 😀",
		"''",
	]) {
		equal(execFileSync("/bin/sh", ["-c", `printf %s ${quote(word)}`], { encoding: "utf8" }), word);
		equal(quote(word).startsWith("'"), true, word);
	}
	for (const word of ["/opt/ringback", "--no-install", "https://shop.example:8443/a,b%20c", "a=b@c+d"]) {
		equal(quote(word), word);
	}
});
