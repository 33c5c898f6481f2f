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

test("every change is listed, so that none can be hidden among many harmless ones", () => {
	const noise = Array.from({ length: 24 }, (_, index) => change("secret.prepared", index, `sec_${index}`));
	const changes = [...noise, change("key.issued", 24, "key_9")];
	const url = "https://ringback.example";
	const { subject, text } = composeProgrammeChangeMail({ zone: "UTC" }, PROGRAMME, changes, url);
	assert.equal(subject, '25 changes to the programme: "Garden & Tools"');
	assert.match(text, /A new API key was issued/);
	assert.equal(text.match(/ UTC: /g)?.length, 25);
});

test("a key is identified by its last characters and its name, which cannot contain a link; times are in the reader's zone", () => {
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

test("a mail about partnerships links to the programme's partners, and other mails do not", () => {
	const textOf = (action: string) =>
		composeProgrammeChangeMail({ zone: "UTC" }, PROGRAMME, [change(action, 0, "x")], "https://a.example")
			.text;
	assert.match(textOf("partnership.ended"), /^ {3}https:\/\/a\.example\/programmes\/prg_1\/partners$/m);
	assert.doesNotMatch(textOf("key.issued"), /partners/);
});
