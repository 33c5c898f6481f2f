import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { noteAudit } from "#core/store/queries/audit.ts";
import { plain } from "#core/web/conversions/shop.test-support.ts";
import { addEntry } from "#modules/accounts/web/issued-statements.test-support.ts";
import { addCredited, openPartnerShop } from "./partner-shop.test-support.ts";

/** 1 November in Berlin, but still 31 October in UTC. */
const LATE_MS = Date.UTC(2026, 9, 31, 23, 30);
const OCTOBER = "from=2026-10-01&to=2026-10-31";

test("a month has the same sum on Earnings, Conversions, Partners and Totals and in files, in the network's zone", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, programme, partnership, base } = shop;
	site.moveClock(Date.UTC(2026, 10, 2, 12) - site.deps.clock.nowMs());
	const browser = await site.signIn(shop);
	for (const [at, commission] of [
		[Date.UTC(2026, 9, 15, 12), "9.90"],
		[LATE_MS, "4.00"],
	] as const) {
		const sale = { status: "APPROVED", occurred_at_ms: at, created_at_ms: at, decided_at_ms: at } as const;
		await addCredited(shop, partnership, { ...sale, commission });
	}
	await site.store.db.updateTable("people").set({ zone: "America/New_York" }).execute();
	const staff = await site.signIn(await site.addStaff());
	const own = `${base}/conversions?programme=${programme.public_id}&${OCTOBER}`;
	const list = `/programmes/${programme.public_id}/conversions`;
	const sums = async (zone: string) => {
		await site.setZone(zone);
		const files = [
			`${base}/conversions/export.csv?${OCTOBER}`,
			`${base}/conversions/export.csv?${OCTOBER}&dates=decision`,
			`${list}/export.csv?${OCTOBER}`,
			`${list}/export.csv?${OCTOBER}&dates=sale`,
			`${list}/export.csv?${OCTOBER}&dates=decision`,
		];
		const inFiles: string[] = [];
		for (const path of files) {
			const { text } = await (path.startsWith(base) ? browser : staff).open(path);
			inFiles.push(["9.90", "4.00"].filter((commission) => text.includes(`,${commission},`)).join("+"));
		}
		const earned = plain((await browser.open(`${base}/earnings?${OCTOBER}`)).text);
		const partners = plain((await staff.open(`/partners?${OCTOBER}`)).text);
		const listed = plain((await staff.open(`${list}?${OCTOBER}&dates=sale`)).text);
		const decided = plain((await staff.open(`${list}?${OCTOBER}&dates=decision`)).text);
		const conversions = (await browser.open(own)).text.match(/cnv_/g)?.length;
		const totals = (await staff.open("/totals?days=30")).text;
		const onLastDay = /datetime="2026-10-31">[^<]*<\/time><\/td><td class="number">(\d)/.exec(totals)?.[1];
		const csv = (await staff.open(`/partners/totals.csv?${OCTOBER}`)).text;
		return {
			earned: /Nordlicht Active since.*? (\d+\.\d\d) EUR (\d) sales?/.exec(earned)?.slice(1, 3),
			partners: /Blog Since.*? (\d+\.\d\d) EUR (\d) sales?/.exec(partners)?.slice(1, 3),
			listed: /Commission: (\d+\.\d\d) EUR approved/.exec(listed)?.[1],
			decided: /Commission: (\d+\.\d\d) EUR approved/.exec(decided)?.[1],
			csv: /APPROVED,(\d),[\d.]+,([\d.]+),EUR,2026-10-01,2026-10-31,(.*)\r/.exec(csv)?.slice(1),
			conversions,
			onLastDay,
			inFiles: [...new Set(inFiles)],
		};
	};
	deepEqual(await sums("UTC"), {
		earned: ["13.90", "2"],
		partners: ["13.90", "2"],
		listed: "13.90",
		decided: "13.90",
		csv: ["2", "13.90", "UTC"],
		conversions: 2,
		onLastDay: "1",
		inFiles: ["9.90+4.00"],
	});
	const inOctober = {
		earned: ["9.90", "1"],
		partners: ["9.90", "1"],
		listed: "9.90",
		decided: "9.90",
		conversions: 1,
		onLastDay: "0",
		inFiles: ["9.90"],
	};
	deepEqual(await sums("Europe/Berlin"), { ...inOctober, csv: ["1", "9.90", "Europe/Berlin"] });
	deepEqual(await sums("Asia/Kolkata"), { ...inOctober, csv: ["1", "9.90", "Asia/Kolkata"] });
});

test("the months are named, and pages and files name the network's time zone", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, partnership, base } = shop;
	await site.setZone("Europe/Berlin");
	await addCredited(shop, partnership, {
		status: "APPROVED",
		occurred_at_ms: LATE_MS,
		decided_at_ms: LATE_MS,
	});
	site.moveClock(LATE_MS - site.deps.clock.nowMs());
	const browser = await site.signIn(shop);
	const { text } = await browser.open(`${base}/earnings`);
	match(plain(text), /November 2026 October 2026 September 2026/);
	doesNotMatch(text, /This month|Last month/);
	match(text, /on which they were sold \(Europe\/Berlin\)/);
	match((await browser.open(`${base}/conversions`)).text, /From \(Europe\/Berlin\)/);
	const file = await browser.open(`${base}/conversions/export.csv`);
	match(file.text, /2026-11-01T00:30:00\.000\+01:00,2026-11-01T00:30:00\.000\+01:00,/);
	match(file.headers.get("content-disposition") ?? "", /-2026-11-01\.csv/);
});

test("lists with days of the network show each time on the day by which it is found, without scripts too", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, programme, partner, partnership, base } = shop;
	const sold = await addCredited(shop, partnership, {
		...{ status: "APPROVED", occurred_at_ms: LATE_MS, created_at_ms: LATE_MS, decided_at_ms: LATE_MS },
	});
	const earned = {
		kind: "EARNED",
		amount: "7.50",
		currency: "EUR",
		atMs: LATE_MS,
		conversion: sold,
	} as const;
	await addEntry(site, partnership, earned);
	await noteAudit(site.store.db, { personId: null, action: "key.issued", subject: "key_1" }, LATE_MS);
	site.moveClock(Date.UTC(2026, 10, 2, 12) - site.deps.clock.nowMs());
	const staff = await site.signIn(await site.addStaff());
	const browser = await site.signIn(shop);
	const november = "from=2026-11-01&to=2026-11-01";
	const list = `/programmes/${programme.public_id}/conversions`;
	const timesOn = async (reader: typeof staff, path: string) => {
		const { status, text } = await reader.open(path);
		equal(status, 200, path);
		const shown = [...text.matchAll(/<time[^>]*data-zone="([^"]+)"[^>]*>([^<]+)</g)];
		return { zones: [...new Set(shown.map(([, zone]) => zone))], days: shown.map(([, , day]) => day), text };
	};
	for (const [zone, written] of [
		["Europe/Berlin", "2026-11-01 00:30:00 CET"],
		["UTC", "2026-10-31 23:30:00 UTC"],
	] as const) {
		await site.setZone(zone);
		const days = zone === "UTC" ? "from=2026-10-31&to=2026-10-31" : november;
		for (const [reader, path] of [
			[browser, `${base}/entries`],
			[browser, `${base}/conversions?${days}`],
			[staff, `/system/audit?action=key.issued&${days}`],
			[staff, `${list}?${days}`],
			[staff, `${list}?${days}&dates=decision`],
			[staff, `/conversions?${days}`],
		] as const) {
			const { zones, days: shown, text } = await timesOn(reader, path);
			deepEqual(zones, [zone], path);
			ok(shown.includes(written), `${path}: ${shown}`);
			match(text, new RegExp(`Times are in ${zone.replaceAll("_", " ")}\\.`), path);
			for (const day of shown) equal(day?.slice(0, 10), written.slice(0, 10), path);
		}
	}
	equal(partner.name, "Blog");
});

test("a partner sees the day and the reason of a rejection or reversal, in the list and in the file", async (t) => {
	const shop = await openPartnerShop(t);
	const { partnership, browser, base } = shop;
	const decided = { occurred_at_ms: LATE_MS, created_at_ms: LATE_MS, decided_at_ms: LATE_MS } as const;
	await addCredited(shop, partnership, { ...decided, status: "REJECTED", reason: "OUT_OF_STOCK" });
	await addCredited(shop, partnership, { occurred_at_ms: LATE_MS });
	const list = plain((await browser.open(`${base}/conversions`)).text);
	match(list, /Rejected ?2026-10-31 ?Out of stock/);
	match(list, /Recorded ?7\.50 EUR/, "nothing is said about a sale that waits");
	match(
		(await browser.open(`${base}/conversions/export.csv`)).text,
		/,2026-10-31T23:30:00\.000Z,OUT_OF_STOCK,/,
	);
	equal((await browser.open(`${base}/conversions?dates=decision`)).text.match(/cnv_/g)?.length, 1);
});
