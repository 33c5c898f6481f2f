import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "../../../test/support/clock.ts";
import { maxFileBytes, SMALL_FILES } from "../receive-file.ts";
import { START_MS } from "../test-site.test-support.ts";
import { follow, openShop, submitForm, uploadForm, workOff } from "./shop.test-support.ts";

const HEADER = "orderId,eventType,decision,reason\n";

test("a file is checked, previewed, applied once however often the button is pressed, and its result downloaded", async (t) => {
	const { site, owner, base, add, read, audit } = await openShop(t);
	const one = await add({ order_id: "one" });
	const two = await add({ order_id: "two" });
	match((await owner.open(`${base}/bulk`)).text, /Upload a file.*None yet/s);
	const uploaded = await submitForm(
		owner,
		`${base}/bulk`,
		uploadForm(`${HEADER}one,,approve,\ntwo,,reject,FRAUD\nthree,,approve,\n=cmd,,reject,NO\n`),
	);
	equal(uploaded.status, 303, uploaded.text);
	const href = uploaded.location ?? "";
	const checking = await owner.open(href);
	match(checking.text, /0 of 4 rows checked/);
	match(checking.text, /hx-trigger="every 1s"/);
	match(checking.text, /<noscript><meta http-equiv="refresh"/);
	const early = await owner.submit(`${href}/apply`, {});
	match(await follow(owner, early.location), /still being checked/);
	await workOff(site);
	const preview = await owner.open(href);
	match(preview.text, /Check before you apply/);
	match(preview.text, /Apply 2 changes/);
	match(preview.text, /2 rows will be left out/);
	match(preview.text, /This programme has no SALE with order id three/);
	match(preview.text, /reason must be one of/);
	doesNotMatch(preview.text, /every 1s/);
	doesNotMatch((await owner.open(`${href}?rows=unknown`)).text, />one<\/a>/);
	equal((await owner.open(`${href}/result.csv`)).status, 404, "there is no result yet");
	equal((await read(one)).status, "RECORDED", "a preview changes nothing");

	equal((await owner.submit(`${href}/apply`, {})).location, href);
	equal((await owner.submit(`${href}/apply`, {})).location, href);
	match((await owner.open(href)).text, /0 of 4 rows applied/);
	await workOff(site);
	const done = await owner.open(href);
	match(done.text, /Decisions applied/);
	match(done.text, /2 changed; 2 left out/);
	equal((await read(one)).status, "APPROVED");
	equal((await read(two)).status, "REJECTED");
	const result = await owner.open(`${href}/result.csv`);
	equal(result.headers.get("content-type"), "text/csv; charset=utf-8");
	match(result.text, /\r\n2,one,SALE,approve,,changed,,cnv_/);
	match(result.text, /\r\n5,'=cmd,SALE,reject,NO,malformed,/, "a formula is defused");
	deepEqual(
		(await audit()).map(([action, , detail]) => [action, detail]),
		[["conversions.decided", "2 of 4 to be changed"]],
	);
	const late = await owner.submit(`${href}/discard`, {});
	match(await follow(owner, late.location), /not yet applied can be discarded/);
	match((await owner.open(`${base}/bulk`)).text, /decisions\.csv.*Done/s);
});

test("rows without a decision are left alone: they are no errors, and an export can come back with a few decisions", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const one = await add({ order_id: "one" });
	const two = await add({ order_id: "two", status: "REJECTED", reason: "FRAUD", decided_by: "shop" });
	const exported = (await owner.open(`${base}/export.csv`)).text.trimEnd().split("\r\n");
	const lines = exported.map((line) => {
		if (line.includes("orderId,")) return `${line},decision`;
		return line.startsWith("one,") ? `${line},approve` : `${line},`;
	});
	await owner.open(`${base}/bulk`);
	const { location } = await submitForm(owner, `${base}/bulk`, uploadForm(lines.join("\r\n")));
	await workOff(site);
	const preview = await owner.open(location ?? "");
	match(preview.text, /Apply 1 change</);
	match(preview.text, /Skipped \(no decision\)/);
	doesNotMatch(preview.text, /will be left out|Needs fixing \(/);
	match((await owner.open(`${location}?rows=left`)).text, />two</);
	await owner.submit(`${location}/apply`, {});
	await workOff(site);
	match((await owner.open(location ?? "")).text, /Every decision was applied/);
	match((await owner.open(`${location}/result.csv`)).text, /\r\n\d,two,SALE,,FRAUD,left_alone,,/);
	equal((await read(one)).status, "APPROVED");
	deepEqual({ ...(await read(two)) }, two);
});

test("a file in which no row has a decision says what to write", async (t) => {
	const { site, owner, base } = await openShop(t);
	await owner.open(`${base}/bulk`);
	const { location } = await submitForm(owner, `${base}/bulk`, uploadForm(`${HEADER}one,,,\n`));
	match((await owner.open(location ?? "")).text, /· 1 row ·[\s\S]*0 of 1 row checked/);
	await workOff(site);
	match((await owner.open(location ?? "")).text, /No row has a decision\. Write approve, reject or reverse/);
});

test("one row that is left out is called one row", async (t) => {
	const { site, owner, base, add } = await openShop(t);
	await add({ order_id: "one" });
	await owner.open(`${base}/bulk`);
	const file = uploadForm(`${HEADER}one,,approve,\nnobody,,approve,\n`);
	const { location } = await submitForm(owner, `${base}/bulk`, file);
	await workOff(site);
	match((await owner.open(location ?? "")).text, /1 row will be left out/);
});

test("several ticked conversions become a job that shows what it would do; foreign ones are not in it", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const conversions = [await add({ order_id: "one" }), await add({ order_id: "two", status: "APPROVED" })];
	const elsewhere = await site.addProgramme("Other");
	const foreign = await add({ order_id: "FOREIGN", programme_id: elsewhere.id });
	await owner.open(base);
	const form = new URLSearchParams({ decision: "reverse", reason: "RETURN" });
	for (const { public_id } of [...conversions, foreign]) form.append("conversion", public_id);
	const job = await submitForm(owner, `${base}/decide`, form);
	match(job.location ?? "", /\/bulk\/job_/);
	const preview = await owner.open(job.location ?? "");
	match(preview.text, /Reverse 2 conversions</);
	doesNotMatch(preview.text, /FOREIGN/);
	await owner.submit(`${job.location}/apply`, {});
	for (const conversion of conversions) equal((await read(conversion)).status, "REVERSED");
	equal((await read(foreign)).status, "RECORDED");
});

test("a job that is discarded is gone and changed nothing", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const one = await add({ order_id: "one" });
	await owner.open(`${base}/bulk`);
	const { location } = await submitForm(owner, `${base}/bulk`, uploadForm(`${HEADER}one,,approve,\n`));
	await workOff(site);
	const discarded = await owner.submit(`${location}/discard`, {});
	match(await follow(owner, discarded.location), /Discarded\. Nothing was changed/);
	equal((await owner.open(location ?? "")).status, 404);
	equal((await read(one)).status, "RECORDED");
});

test("staff see a shop's job and cannot apply it; their own may only reject", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const one = await add({ order_id: "one" });
	await owner.open(`${base}/bulk`);
	const { location } = await submitForm(owner, `${base}/bulk`, uploadForm(`${HEADER}one,,approve,\n`));
	await workOff(site);
	const staff = await site.signIn(await site.addStaff());
	const seen = await staff.open(location ?? "");
	match(seen.text, /Only its owners can apply/);
	doesNotMatch(seen.text, /\/apply"/);
	const applied = await staff.submit(`${location}/apply`, {});
	match(await follow(staff, applied.location), /Only its owners can apply/);
	await workOff(site);
	equal((await read(one)).status, "RECORDED");
	await staff.open(`${base}/bulk`);
	const own = await submitForm(staff, `${base}/bulk`, uploadForm(`${HEADER}one,,approve,\n`));
	await workOff(site);
	match((await staff.open(own.location ?? "")).text, /Only the shop&#39;s owners can approve/);
});

for (const [what, form, status, sentence] of [
	["no file", () => new FormData(), 422, /Choose a CSV file first/],
	[
		"a wrong header",
		() => uploadForm("customer,decision\nA,approve\n"),
		422,
		/Line 1: there is no column “customer”/,
	],
	[
		"another encoding",
		() => uploadForm(new Uint8Array([...new TextEncoder().encode(HEADER), 0xe4, 0x0a])),
		422,
		/Line 2 has letters that are not in UTF-8/,
	],
	[
		"too many rows",
		() => uploadForm(`orderId,decision\n${"A,approve\n".repeat(40_001)}`),
		422,
		/more than 40\u00a0000 rows/,
	],
	[
		"too many bytes",
		() => uploadForm(new Uint8Array(maxFileBytes(SMALL_FILES) + 1)),
		413,
		/larger than 10 MB/,
	],
] as const) {
	test(`${what} is refused on the form itself, and nothing is stored`, async (t) => {
		const { site, owner, base } = await openShop(t);
		await owner.open(`${base}/bulk`);
		const refused = await submitForm(owner, `${base}/bulk`, form());
		equal(refused.status, status);
		match(refused.text, sentence);
		match(refused.text, /aria-invalid="true"/);
		deepEqual(await site.store.db.selectFrom("bulk_jobs").select("id").execute(), []);
	});
}

test("a refused upload leaves no timer behind, which would keep a process that has stopped", async (t) => {
	const clock = createClock(START_MS);
	const { owner, base } = await openShop(t, "Shop", { change: { clock } });
	await owner.open(`${base}/bulk`);
	equal((await submitForm(owner, `${base}/bulk`, new FormData())).status, 422);
	equal(clock.waitingTimers, 0);
});

test("the preview shows both of two lines that contradict each other, and a repeated one with the line it repeats", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const [one, two] = [await add({ order_id: "one" }), await add({ order_id: "two" })];
	await owner.open(`${base}/bulk`);
	const file = uploadForm(`${HEADER}one,,approve,\ntwo,,approve,\none,,reject,FRAUD\ntwo,SALE,approve,\n`);
	const { location } = await submitForm(owner, `${base}/bulk`, file);
	await workOff(site);
	const { text } = await owner.open(location ?? "");
	equal([...text.matchAll(/Line 2 and line 4 decide the same order differently/g)].length, 2);
	match(text, /No change needed<\/span><span[^>]*>Line 3 says the same/);
	match(text, /Apply 1 change</);
	match(text, /2 rows will be left out/);
	await owner.submit(`${location}/apply`, {});
	await workOff(site);
	deepEqual([(await read(one)).status, (await read(two)).status], ["RECORDED", "APPROVED"]);
});

test("an order id that looks like another is told apart in the preview, and only the line's own is decided", async (t) => {
	const { site, programme, owner, base, add, read } = await openShop(t);
	const genuine = await add({ order_id: "8001" });
	await owner.open(`/pixel/${programme.public_id}.gif?orderId=%C2%A08001&basketValue=1`);
	const stored = await site.store.db.selectFrom("conversions").select("order_id").execute();
	deepEqual(
		stored.map((row) => row.order_id),
		["8001"],
		"a stranger's pixel cannot bring it in",
	);
	const lookalike = await add({ order_id: "\u00a08001" });
	const exported = (await owner.open(`${base}/export.csv`)).text.trimEnd().split("\r\n");
	const lines = exported.map((line, index) => {
		if (index === 0) return `${line},decision`;
		return line.startsWith("\u00a0") ? `${line.replace(",EUR,,", ",EUR,FRAUD,")},reject` : `${line},`;
	});
	await owner.open(`${base}/bulk`);
	const { location } = await submitForm(owner, `${base}/bulk`, uploadForm(lines.join("\r\n")));
	await workOff(site);
	const { text } = await owner.open(location ?? "");
	match(text, />\[U\+00A0\]8001<\/a>/);
	match(text, />8001<\/a>/);
	match(text, /Apply 1 change</);
	await owner.submit(`${location}/apply`, {});
	await workOff(site);
	deepEqual([(await read(genuine)).status, (await read(lookalike)).status], ["RECORDED", "REJECTED"]);
});

test("a line that names a conversion which is not there shows its id in place of an order", async (t) => {
	const { site, owner, base } = await openShop(t);
	await owner.open(`${base}/bulk`);
	const file = uploadForm("conversionId,decision\ncnv_01KZ0000000000000000000000,approve\n");
	const { location } = await submitForm(owner, `${base}/bulk`, file);
	await workOff(site);
	const { text } = await owner.open(location ?? "");
	match(text, />cnv_01KZ0000000000000000000000<\/span>/);
	match(text, /This programme has no conversion cnv_01KZ0000000000000000000000/);
	match((await owner.open(`${base}/bulk`)).text, /decides exactly that conversion/);
});

test("a long preview is paged, and every row is on one page", async (t) => {
	const { site, owner, base } = await openShop(t);
	await owner.open(`${base}/bulk`);
	const rows = Array.from({ length: 230 }, (_, index) => `row${index}.,,approve,\n`).join("");
	const { location } = await submitForm(owner, `${base}/bulk`, uploadForm(HEADER + rows));
	await workOff(site);
	let href: string | undefined = location ?? "";
	const seen: string[] = [];
	for (let page = 0; href !== undefined && page < 9; page++) {
		const { text } = await owner.open(href);
		seen.push(...[...text.matchAll(/>(row\d+\.)<\/span>/g)].map((match) => match[1] ?? ""));
		href = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
	}
	equal(new Set(seen).size, 230);
	equal(seen.length, 230);
	ok(href === undefined);
});
