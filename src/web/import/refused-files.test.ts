import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { IMPORT_FILES, maxFileBytes } from "../receive-file.ts";
import { openNetwork, PROGRAMMES, send, workOff } from "./import-site.test-support.ts";

const utf16 = (text: string) => new Uint8Array(Buffer.from(`\u{FEFF}${text}`, "utf16le"));

for (const [what, kind, content, status, sentence] of [
	[
		"nothing",
		"people",
		"",
		422,
		/The file is empty\. The first line must name the columns: email, programme, role/,
	],
	[
		"a header alone",
		"people",
		"email,programme,role\n",
		422,
		/a header but no rows\. Add one line for each person/,
	],
	[
		"other columns",
		"people",
		"Mail,programme,job\n",
		422,
		/there is no column “Mail” \(email is meant\?\) or “job”, and the columns email and role are missing/,
	],
	[
		"a file of another kind",
		"conversions",
		`${PROGRAMMES}\nx;x@x.example;EUR;1;1;1\n`,
		422,
		/This is a file of programmes\. Import it as one\./,
	],
	[
		"a picture",
		"programmes",
		new Uint8Array(5_000).map((_, at) => (at * 197) % 256),
		422,
		/Line 1 has letters that are not in UTF-8, as in a file that was saved as plain “CSV” on Windows\./,
	],
	[
		"half of UTF-16",
		"people",
		utf16("email,programme,role\na@b.example,x,owner\n").subarray(0, 31),
		422,
		/The file is in UTF-16 and broken\. In Excel choose “Save as” and “CSV UTF-8”/,
	],
	["a quote without an end", "people", 'email,programme,role\n"a,b,c\n', 422, /never closed/],
	[
		"too much",
		"conversions",
		new Uint8Array(maxFileBytes(IMPORT_FILES) + 1),
		413,
		/larger than 50 MB\. Split it into parts, or import it from a shell/,
	],
] as const) {
	test(`${what} is refused on the form itself, and nothing is stored`, async (t) => {
		const { site, staff } = await openNetwork(t);
		const refused = await send(staff, kind, content);
		equal(refused.status, status);
		match(refused.text, sentence);
		match(refused.text, /aria-invalid="true"/);
		deepEqual(await site.store.db.selectFrom("import_jobs").select("id").execute(), []);
	});
}

test("no file at all is asked for; a name that is none is bounded; UTF-16 and tabs are read", async (t) => {
	const { site, staff } = await openNetwork(t);
	await staff.open("/import/people");
	const none = await staff.submitForm("/import/people", new FormData());
	deepEqual([none.status, /Choose a CSV file first/.test(none.text)], [422, true]);
	await site.addProgramme("Gärten");
	const content = utf16("email\tprogramme\trole\r\na@b.example\tGärten\towner\r\n");
	const { location } = await send(staff, "people", content, `${"<b>".repeat(100)}.csv`);
	await workOff(site);
	const { text } = await staff.open(location ?? "");
	match(text, /Import 1 person<.*Gärten/s);
	match(text, /&lt;b&gt;/);
	doesNotMatch(text, /<b>|(&lt;b&gt;){41}/);
	ok((await staff.open("/import/people")).text.includes("&lt;b&gt;"));
});
