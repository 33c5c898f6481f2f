import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { isSignedWith } from "./hmac.ts";

test("a signature under an empty secret is refused even if it is correct", async () => {
	assert.equal(await isSignedWith("", "message", sign("", "message")), false);
});

test("a signature is accepted in lower, upper and mixed case", async () => {
	const signature = sign("secret", "message");
	const mixed = signature.slice(0, 32).toUpperCase() + signature.slice(32);
	for (const form of [signature, signature.toUpperCase(), mixed]) {
		assert.equal(await isSignedWith("secret", "message", form), true);
	}
});

test("a signature of another form is refused, whatever it starts with", async () => {
	const signature = sign("secret", "message");
	const forms = ["", "0", signature.slice(0, -1), signature.slice(0, -2), `${signature}00`, `0x${signature}`];
	const padded = [
		` ${signature}`,
		`${signature}\n`,
		`${signature}, ${signature}`,
		`${signature.slice(0, -1)}g`,
	];
	for (const form of [...forms, ...padded])
		assert.equal(await isSignedWith("secret", "message", form), false);
});

function sign(secret: string, message: string): string {
	return createHmac("sha256", secret).update(message).digest("hex");
}
