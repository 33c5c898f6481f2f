import { equal, notEqual, rejects } from "node:assert/strict";
import { scryptSync } from "node:crypto";
import { test } from "node:test";
import { hashPassword, isRightPassword } from "./password-hash.ts";

const SALT = Buffer.from("0123456789abcdef");
const PASSWORD = "correct horse battery";

test("the stored text names scrypt, its parameters, the salt and the key that scrypt gives", async () => {
	const stored = await hashPassword(PASSWORD, SALT);
	const key = scryptSync(PASSWORD, SALT, 32, { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 27 });
	const [salt64, key64] = [SALT, key].map((bytes) => bytes.toString("base64").replace(/=+$/, ""));
	equal(stored, `$scrypt$ln=15,r=8,p=3$${salt64}$${key64}`);
});

test("the right password is accepted, and every other one is refused", async () => {
	const stored = await hashPassword(PASSWORD, SALT);
	equal(await isRightPassword(stored, PASSWORD), true);
	equal(await isRightPassword(stored, `${PASSWORD} `), false);
});

test("another salt gives another hash", async () => {
	notEqual(await hashPassword(PASSWORD, SALT), await hashPassword(PASSWORD, Buffer.alloc(16, 1)));
});

test("a hash with other parameters is verified with its own parameters", async () => {
	const key = scryptSync(PASSWORD, SALT, 64, { N: 2 ** 4, r: 2, p: 1 });
	const [salt64, key64] = [SALT, key].map((bytes) => bytes.toString("base64").replace(/=+$/, ""));
	const stored = `$scrypt$ln=4,r=2,p=1$${salt64}$${key64}`;
	equal(await isRightPassword(stored, PASSWORD), true);
	equal(await isRightPassword(stored, "another password"), false);
});

test("a letter with an accent is the same in a password whether it is encoded as one character or two", async () => {
	const stored = await hashPassword("caf\u00e9 with milk", SALT);
	equal(await isRightPassword(stored, "cafe\u0301 with milk"), true);
});

test("a text that is not a hash throws and lets nobody in", async () => {
	for (const stored of ["", "plain", "$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA", "$scrypt$ln=15,r=8$AAAA$AAAA"]) {
		await rejects(isRightPassword(stored, PASSWORD), /malformed/);
	}
});
