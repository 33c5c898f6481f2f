import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { follow, openShop, uploadForm, workOff } from "#core/web/conversions/shop.test-support.ts";
import { maxFileBytes, SMALL_FILES } from "#core/web/receive-file.ts";
import { START_MS } from "#core/web/test-site.test-support.ts";
import { createClock } from "../../../../test/support/clock.ts";

const HEADER = "orderId,eventType,decision,reason\n";

test("a file is checked, previewed and applied once, even if the button is pressed twice, and its result can be downloaded", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const one = await add({ order_id: "one", basket_value: "700.00" });
	const two = await add({ order_id: "two" });
	match((await owner.open(`${base}/bulk`)).text, /Upload a file.*None yet.*decides exactly this conversion/s);
	const uploaded = await owner.submitForm(
		`${base}/bulk`,
		uploadForm(
			`${HEADER}one,,approve,\ntwo,,reject,FRAUD\nthree,,approve,\n=cmd,,reject,NO\nskipped,,,\none,SALE,approve,\n`,
		),
	);
	equal(uploaded.status, 303, uploaded.text);
	const href = uploaded.location ?? "";
	const checking = await owner.open(href);
	match(checking.text, /0 of 5 lines checked/);
	match(checking.text, /hx-trigger="every 1s"/);
	match(checking.text, /<noscript><meta http-equiv="refresh"/);
	const early = await owner.submit(`${href}/apply`, {});
	match(await follow(owner, early.location), /still being checked/);
	await workOff(site);
	const preview = await owner.open(href);
	match(preview.text, /Preview, not confirmed yet/);
	match(preview.text, /Rejections, reversals and refunds cannot be undone.*gets a callback for each change/s);
	match(preview.text, /Decide 2 conversions/);
	match(preview.text, /2 lines will be left out/);
	match(preview.text, /By status.*Approved.*700\.00.*Rejected/s);
	match(preview.text, /This programme has no SALE with order ID three/);
	match(preview.text, /reason must be one of/);
	doesNotMatch(preview.text, /every 1s/);
	match((await owner.open(`${href}/result.csv`)).text, /\r\n2,will_be_changed,,cnv_\w+,one,/);
	equal((await read(one)).status, "RECORDED", "a preview changes nothing");

	equal((await owner.submit(`${href}/apply`, {})).location, href);
	equal((await owner.submit(`${href}/apply`, {})).location, href);
	match((await owner.open(href)).text, /0 of 5 lines done/);
	await workOff(site);
	const done = await owner.open(href);
	match(done.text, /Done.*2 conversions decided\. 2 lines left out: see below\./s);
	equal((await read(one)).status, "APPROVED");
	equal((await read(two)).status, "REJECTED");
	const result = await owner.open(`${href}/result.csv`);
	equal(result.headers.get("content-type"), "text/csv; charset=utf-8");
	match(result.text, /\r\n2,changed,,cnv_\w+,one,/);
	match(result.text, /\r\n5,malformed,[^\r]*'=cmd,/, "a formula is defused");
	match(result.text, /\r\n7,already,Line 2 says the same/);
	const late = await owner.submit(`${href}/discard`, {});
	match(await follow(owner, late.location), /A finished one stays on record/);
	match((await owner.open(`${base}/bulk`)).text, /decisions\.csv.*Done/s);
});

test("staff can see a shop's job but not apply, stop or discard it, and their own jobs may only reject", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const one = await add({ order_id: "one" });
	await owner.open(`${base}/bulk`);
	const { location } = await owner.submitForm(`${base}/bulk`, uploadForm(`${HEADER}one,,approve,\n`));
	await workOff(site);
	const staff = await site.signIn(await site.addStaff());
	const seen = await staff.open(location ?? "");
	match(seen.text, /Only its owners can apply/);
	doesNotMatch(seen.text, /\/apply"/);
	for (const action of ["apply", "stop", "discard"]) {
		const applied = await staff.submit(`${location}/${action}`, {});
		match(await follow(staff, applied.location), /Only its owners can apply/);
	}
	await workOff(site);
	equal((await read(one)).status, "RECORDED");
	const id = location?.split("/").at(-1);
	equal((await staff.open(`/import/jobs/${id}`)).status, 404, "it is not an import");
	await staff.open(`${base}/bulk`);
	const ownJob = await staff.submitForm(`${base}/bulk`, uploadForm(`${HEADER}one,,approve,\n`));
	await workOff(site);
	match((await staff.open(ownJob.location ?? "")).text, /Only the shop&#39;s owners can approve/);
});

test("an invalid file is refused on the form, stores nothing and leaves no timer", async (t) => {
	const clock = createClock(START_MS);
	const { site, owner, base } = await openShop(t, "Shop", { change: { clock } });
	await owner.open(`${base}/bulk`);
	for (const [form, status, sentence] of [
		[new FormData(), 422, /Choose a CSV file first/],
		[uploadForm(`${HEADER}one,,,\n`), 422, /No line has a decision\. Write approve/],
		[uploadForm(`orderId,decision\n${"A,approve\n".repeat(40_001)}`), 422, /40,000 rows/],
		[uploadForm(new Uint8Array(maxFileBytes(SMALL_FILES) + 1)), 413, /larger than 10 MB/],
	] as const) {
		const refused = await owner.submitForm(`${base}/bulk`, form);
		equal(refused.status, status);
		match(refused.text, sentence);
		match(refused.text, /aria-invalid="true"/);
	}
	for (const table of ["jobs", "job_lines"] as const) {
		deepEqual(await site.store.db.selectFrom(table).selectAll().execute(), []);
	}
	equal(clock.waitingTimers, 0);
});
