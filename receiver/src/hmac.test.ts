import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { digestSha256, isSignedWith } from "./hmac.ts";

const emptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

test("a signature under an empty secret is refused even when it is correct", async () => {
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

test("web crypto is found without its global, as on Node 18", async () => {
	const global = Object.getOwnPropertyDescriptor(globalThis, "crypto");
	Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
	try {
		assert.equal(await digestSha256(new Uint8Array()), emptySha256);
		assert.equal(await isSignedWith("secret", "message", sign("secret", "message")), true);
	} finally {
		if (global) Object.defineProperty(globalThis, "crypto", global);
		else Reflect.deleteProperty(globalThis, "crypto");
	}
});

function sign(secret: string, message: string): string {
	return createHmac("sha256", secret).update(message).digest("hex");
}
