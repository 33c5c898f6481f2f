import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../store/queries/audit.ts";
import { composeProgrammeChangeMail } from "./change-mail.ts";

const PROGRAMME = { name: "Garden & Tools", public_id: "prg_1" };

function change(action: string, atMs: number, subject: string): Change {
	return {
		action,
		at_ms: atMs,
		subject,
		detail: null,
		address: null,
		actor: null,
		programme_id: 1,
	} as Change;
}

test("what lets somebody in is named, however many harmless changes were made to hide it", () => {
	const noise = Array.from({ length: 24 }, (_, index) =>
		change(index % 2 === 0 ? "secret.prepared" : "secret.discarded", index, `sec_${index}`),
	);
	const changes = [
		...noise,
		change("key.issued", 24, "key_9"),
		change("person.invited", 25, "thief@evil.example"),
	];
	const { subject, text } = composeProgrammeChangeMail(
		{ zone: null },
		PROGRAMME,
		changes,
		"https://ringback.example",
	);
	assert.equal(subject, '26 changes to the programme: "Garden & Tools"');
	assert.match(text, /A new API key was issued/);
	assert.match(text, /thief@evil\.example was invited/);
	assert.match(
		text,
		/… and 6 more\. In all: New signing secret prepared \(12\), Prepared signing secret discarded \(12\), API key issued \(1\), Person invited \(1\)\./,
	);
	assert.equal(text.match(/ UTC: /g)?.length, 20);
});

test("a key is told by its last characters and its name, which can be no link; the time is the reader's own", () => {
	const issued = {
		...change("key.issued", Date.UTC(2026, 0, 15, 12), "key_9"),
		detail: "rbk_…1a2b Shop.example",
	};
	const revoked = { ...issued, action: "key.revoked" };
	const { text } = composeProgrammeChangeMail(
		{ zone: "Europe/Berlin" },
		PROGRAMME,
		[issued, revoked],
		"https://ringback.example",
	);
	assert.match(
		text,
		/^2026-01-15 13:00 \(Europe\/Berlin\): A new API key rbk_…1a2b \("Shop\[\.\]example"\) was issued\./m,
	);
	assert.match(text, /The API key rbk_…1a2b \("Shop\[\.\]example"\) was revoked\./);
});
