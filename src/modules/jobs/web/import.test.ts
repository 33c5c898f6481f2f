import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { IMPORT_FILES, maxFileBytes } from "#core/web/receive-file.ts";
import { HISTORY, openNetwork, PROGRAMMES, send, upload, workOff } from "./import-site.test-support.ts";

test("a network imports programmes, people and conversions after a preview of each, and no callback is sent", async (t) => {
	const { site, staff } = await openNetwork(t);
	const start = await staff.open("/import");
	equal(start.location, "/import/programmes");
	match((await staff.open("/programmes")).text, /href="\/import"[^>]*>Import</);
	match((await staff.open("/import/programmes")).text, /None yet.*What the file looks like.*owner_email/s);

	const shops = await upload(staff, "programmes", [
		PROGRAMMES,
		"Garden Shop;owner@garden.example;EUR;7,5;2;30",
	]);
	const checking = await staff.open(shops);
	match(checking.text, /0 of 1 line checked/);
	match(checking.text, /hx-trigger="every 1s"/);
	match(checking.text, /<noscript><meta http-equiv="refresh"/);
	const early = await staff.submit(`${shops}/apply`, {});
	match((await staff.open(early.location ?? "")).text, /still being checked/);
	equal((await staff.open(`${shops}/result.csv`)).status, 404, "nothing to tell yet");
	await workOff(site);
	const preview = await staff.open(shops);
	match(preview.text, /Preview, not confirmed yet/);
	match(preview.text, /Import 1 programme</);
	match(preview.text, /cannot be removed/);
	doesNotMatch(preview.text, /every 1s/);
	doesNotMatch((await staff.open("/programmes")).text, /Garden Shop/);
	equal((await staff.submit(`${shops}/apply`, {})).location, shops);
	equal((await staff.submit(`${shops}/apply`, {})).location, shops, "pressed twice");
	match((await staff.open(shops)).text, /0 of 1 line done/);
	await workOff(site);
	match((await staff.open(shops)).text, /Done.*1 programme imported\..*Next: people/s);
	match((await staff.open("/programmes")).text, /Garden Shop/);

	const people = await upload(staff, "people", [
		"email,name,programme,role",
		"dev@garden.example,Ada,Garden Shop,developer",
	]);
	await workOff(site);
	match((await staff.open(people)).text, /No mail is sent, because this service has no mail server/);
	await staff.submit(`${people}/apply`, {});
	await workOff(site);
	match((await staff.open(people)).text, /1 person imported.*Next: partners/s);

	const history = await upload(staff, "conversions", [
		HISTORY,
		"Garden Shop;A-1;approved;01.02.2026 10:15;1299,50;",
		"Garden Shop;A-2;rejected;2026-02-02;50;Out of stock",
		"Garden Shop;A-3;pending;2026-02-02;50;",
		"=Nowhere;A-4;approved;2026-02-02;50;",
	]);
	await workOff(site);
	const { text } = await staff.open(history);
	match(text, /Will be imported<\/dt><dd>2<.*Needs fixing<\/dt><dd>2</s);
	match(text, /2 lines will be left out/);
	match(text, /Imported conversions cannot be removed\. No callback is sent for them\./);
	match(text, /By status.*Approved.*1,299\.50.*Rejected/s);
	match(text, /Line 4<.*with a file of open conversions.*Line 5<.*There is no programme “=Nowhere”/s);
	const toFix = await staff.open(`${history}/problems.csv`);
	equal(toFix.headers.get("content-type"), "text/csv; charset=utf-8");
	match(toFix.text, /\r\n5,needs_fixing,[^\r]*'=Nowhere/, "a formula is defused");
	doesNotMatch(toFix.text, /A-1/);
	await staff.submit(`${history}/apply`, {});
	await workOff(site);
	const done = await staff.open(history);
	match(done.text, /2 conversions imported\. 2 lines left out: see below\./);
	match(done.text, /started by (?:<[^>]+>)?sam@/);
	match((await staff.open(`${history}/result.csv`)).text, /\r\n2,imported,,Garden Shop,A-1,/);
	for (const table of ["events", "deliveries", "queue", "mail_queue"] as const) {
		deepEqual(await site.store.db.selectFrom(table).selectAll().execute(), [], table);
	}
	const listed = (await staff.open("/import/people")).text;
	equal(listed.match(/>Done</g)?.length, 3);
	const audit = (await staff.open("/system/audit")).text;
	match(audit, /Import finished.*conversions\.csv.*Import started.*File uploaded for import/s);
	// The downloaded file with the refused lines can be corrected and uploaded in the same format.
	const corrected = toFix.text.replace(",pending,", ",approved,").replace("'=Nowhere", "Garden Shop");
	const again = await send(staff, "conversions", corrected);
	await workOff(site);
	match((await staff.open(again.location ?? "")).text, /Import 2 conversions</);

	site.moveClock(3 * DAY_MS + 1);
	await workOff(site);
	const later = await site.signIn({ email: "sam@network.example" });
	match((await later.open(history)).text, /The lines are removed three days after the end/);
	equal((await later.open(`${history}/result.csv`)).status, 404);
	equal((await later.open(again.location ?? "")).status, 404, "it was not applied within three days");
});

test("a network imports partners, links, codes and open conversions, and a published link works", async (t) => {
	const { site, staff } = await openNetwork(t);
	const run = async (kind: string, lines: readonly string[]) => {
		const job = await upload(staff, kind, lines);
		await workOff(site);
		const preview = (await staff.open(job)).text;
		await staff.submit(`${job}/apply`, {});
		await workOff(site);
		return { job, preview, done: (await staff.open(job)).text };
	};
	await run("programmes", [
		`${PROGRAMMES};credits_partners;shop_addresses`,
		"Garden Shop;owner@garden.example;EUR;7,5;2;30;yes;garden.example",
	]);
	const partners = await run("partners", [
		"name,site,e-mail,programme,rate",
		"Bergblog,bergblog.example,anna@bergblog.example,Garden Shop,8",
		"=Formula,,x@formula.example,Nowhere,",
	]);
	match(partners.preview, /No mail is sent, because.*its page under Partners.*Import 1 partnership</s);
	match(partners.done, /1 partnership imported\. 1 line left out.*Next: links/s);
	match((await staff.open(`${partners.job}/problems.csv`)).text, /\r\n3,needs_fixing,[^\r]*'=Formula/);
	match((await staff.open("/partners")).text, /Bergblog/);
	const links = await run("links", [
		"partner,programme,code,target",
		"Bergblog,Garden Shop,Berg_2019,https://garden.example/sale",
	]);
	match(links.preview, /Redirect the old addresses to \/c\/&lt;code&gt;.*Import 1 link</s);
	match(links.done, /Next: codes/);
	match(
		(await run("codes", ["partner,programme,code", "Bergblog,Garden Shop,BERG10"])).done,
		/1 coupon code imported/,
	);
	const open = await run("open-conversions", [
		"programme,order_id,sold_at,approve_at,amount,partner",
		"Garden Shop,O-1,2026-01-05,2026-01-20,100,Bergblog",
		"Garden Shop,O-2,2026-02-05,2099-01-01,100,Bergblog",
		"Garden Shop,O-3,2026-02-05,2026-04-01,100,Bergblog",
	]);
	match(open.preview, /approval window of 1 open conversion has ended already.*a callback is sent/s);
	match(open.preview, /By status.*Recorded.*200\.00.*16\.00/s);
	match(open.preview, /Line 3<.*approve_at is more than ten years away/s);
	match(
		open.done,
		/2 open conversions imported\. The approval window of 1 open conversion had ended already/,
	);
	doesNotMatch(open.done, /without a mail/);
	const conversion = await site.store.db
		.selectFrom("conversions")
		.select(["public_id", "programme_id"])
		.where("order_id", "=", "O-3")
		.executeTakeFirstOrThrow();
	const programme = await site.store.db
		.selectFrom("programmes")
		.select("public_id")
		.where("id", "=", conversion.programme_id)
		.executeTakeFirstOrThrow();
	const page = await staff.open(`/programmes/${programme.public_id}/conversions/${conversion.public_id}`);
	match(page.text, /The sale was imported with this partner/);
	match(page.text, /imported while it was open\. The import sends no callback\. The decision does\./);
});

test("with mail, the person who imports people chooses whether they are invited", async (t) => {
	const { site, staff } = await openNetwork(t, { hasMail: true });
	await site.addProgramme("Garden Shop");
	await site.addProgramme("Book Club");
	const invite = async (email: string, fields: Readonly<Record<string, string>>, shop = "Garden Shop") => {
		const job = await upload(staff, "people", ["email,programme,role", `${email},${shop},viewer`]);
		await workOff(site);
		match(
			(await staff.open(job)).text,
			/type="checkbox" name="invite"(?! value="on" checked).*At most 200 invitations are mailed/s,
		);
		await staff.submit(`${job}/apply`, fields);
		await workOff(site);
		await site.deps.mails.settled();
		return (await staff.open(job)).text;
	};
	doesNotMatch(await invite("quiet@garden.example", {}), /on their way/);
	deepEqual(site.mailbox, []);
	match(await invite("loud@garden.example", { invite: "on" }), /Their invitations are on their way/);
	const again = await invite("loud@garden.example", { invite: "on" }, "Book Club");
	match(again, /1 person added without a mail\. The result file says who and why/);
	doesNotMatch(again, /on their way/);
	deepEqual(
		site.mailbox.map(({ to }) => to),
		["loud@garden.example"],
	);
});

test("an invalid file is refused on the form, and nothing is stored", async (t) => {
	const { site, staff } = await openNetwork(t);
	const wrong = /the columns “Mail” and “job” are not known, and the columns email and role are missing/;
	const large = /larger than 50 MB\. Split it into parts, or import it from a shell/;
	for (const [kind, content, status, sentence] of [
		["people", "email,programme,role\n", 422, /no rows\. Add one line for each person/],
		["people", "Mail,programme,job\n", 422, wrong],
		["conversions", new Uint8Array(maxFileBytes(IMPORT_FILES) + 1), 413, large],
	] as const) {
		const refused = await send(staff, kind, content);
		equal(refused.status, status);
		match(refused.text, sentence);
		match(refused.text, /aria-invalid="true"/);
	}
	deepEqual(await site.store.db.selectFrom("jobs").select("id").execute(), []);
});

test("a form without a file is refused, and a file name with markup is cut and escaped", async (t) => {
	const { site, staff } = await openNetwork(t);
	await staff.open("/import/people");
	const none = await staff.submitForm("/import/people", new FormData());
	deepEqual([none.status, /Choose a CSV file first/.test(none.text)], [422, true]);
	await site.addProgramme("Gärten");
	const content = "email;programme;role\na@b.example;Gärten;owner\n";
	const { location } = await send(staff, "people", content, `${"<b>".repeat(100)}.csv`);
	await workOff(site);
	const { text } = await staff.open(location ?? "");
	match(text, /Import 1 person</);
	match(text, /&lt;b&gt;/);
	doesNotMatch(text, /<b>|(&lt;b&gt;){41}/);
	ok((await staff.open("/import/people")).text.includes("&lt;b&gt;"));
});
