// Cheap passwords for tests are still checked, and hide no cheap ones of the service.

import { equal, notEqual, rejects } from "node:assert/strict";
import { scrypt } from "node:crypto";
import { test } from "node:test";
import { promisify } from "node:util";
import "./quick-passwords.ts";

const derive = promisify<string, string, number, { N: number; r: number; p: number }, Buffer>(scrypt);
const MEANT = { N: 16_384, r: 16, p: 1 };

test("another password or another salt is another key", async () => {
	const key = async (password: string, salt: string) =>
		(await derive(password, salt, 64, MEANT)).toString("hex");
	equal(await key("correct", "salt"), await key("correct", "salt"));
	notEqual(await key("correct", "salt"), await key("wrong", "salt"));
	notEqual(await key("correct", "salt"), await key("correct", "other"));
});

test("a service that hashes at a lower cost fails", async () => {
	await rejects(
		async () => derive("correct", "salt", 64, { ...MEANT, N: 1_024 }),
		/at another cost than is meant/,
	);
	await rejects(
		async () => derive("correct", "salt", 64, { ...MEANT, r: 8 }),
		/at another cost than is meant/,
	);
});
