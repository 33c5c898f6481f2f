// Tests the exports of a person and of a partner on both databases: what they contain, and what they must not.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { exportPartner } from "#modules/personal-data/use-cases/export-partner.ts";
import { exportPerson } from "#modules/personal-data/use-cases/export-person.ts";
import { mainlyOn } from "../support/databases.ts";
import {
	EMAIL,
	type FilledNetwork,
	fillNetwork,
	NAME,
	ODD,
	ODD_ADDRESS,
	OTHER_EMAILS,
	WAITING_LINK,
} from "./filled-network.ts";

type Exported = Readonly<Record<string, unknown>>;
type Row = Readonly<Record<string, unknown>>;

mainlyOn("SQLite", "an export", (database) => {
	let filled: FilledNetwork;
	before(async () => {
		filled = await fillNetwork(database.store);
	});

	async function read(exported: Awaited<ReturnType<typeof exportPerson>>): Promise<Exported> {
		ok(exported.ok, JSON.stringify(exported));
		return JSON.parse((await Array.fromAsync(exported.value.parts)).join(""));
	}

	const listOf = (file: Exported, name: string) => file[name] as readonly Row[];

	test("of a person has the account, sessions, applications, mails and audit entries by and about them", async () => {
		const { site, person, partner } = filled;
		const file = await read(await exportPerson(site.deps, COMMAND_LINE, person.public_id));
		deepEqual(Object.keys(file), [
			"about",
			"account",
			"programmes",
			"partners",
			"sessions",
			"linksToSignIn",
			"applications",
			"apiKeysIssued",
			"apiTokensIssued",
			"filesUploaded",
			"mails",
			"auditEntriesByThePerson",
			"auditEntriesAboutThePerson",
		]);
		const account = file["account"] as Row;
		deepEqual([account["name"], account["email"], account["timeZone"]], [NAME, EMAIL, "Europe/Berlin"]);
		deepEqual(new Set(account["otherEmails"] as string[]), new Set(OTHER_EMAILS));
		deepEqual(file["partners"], [{ id: partner.public_id, name: partner.name.replace("Blog", "Media") }]);
		const [session] = listOf(file, "sessions");
		deepEqual([session?.["address"], session?.["browser"]], [ODD_ADDRESS, `${ODD}Browser/1.0`]);
		equal(listOf(file, "applications").length, 2);
		equal(listOf(file, "apiTokensIssued")[0]?.["name"], `${ODD} tracker`);
		ok(
			listOf(file, "mails").some(({ text }) => text === `Dear ${ODD}`),
			"the text of a waiting mail",
		);
		deepEqual(
			listOf(file, "mails").flatMap(({ subject, text }) =>
				subject === "Choose a new password" ? [text] : [],
			),
			[null],
		);
		equal(JSON.stringify(file).includes(WAITING_LINK), false, "with its link, others could sign in");
		ok(listOf(file, "auditEntriesByThePerson").some(({ action }) => action === "person.signed_in"));
		ok(listOf(file, "auditEntriesAboutThePerson").some(({ who }) => who === "the network's staff"));
		await refuseSecrets(file);
	});

	test("of a partner has its people, money, links, clicks, sales and callbacks, and no order ID", async () => {
		const { site, partner, sale } = filled;
		const file = await read(await exportPartner(site.deps, COMMAND_LINE, partner.public_id));
		deepEqual(file["people"], [{ name: NAME, email: EMAIL }]);
		equal((file["paymentDetails"] as Row)["iban"], "DE89370400440532013000");
		const amounts = listOf(file, "account").map(({ kind, amount }) => `${kind} ${amount}`);
		deepEqual(amounts, [
			...["EARNED 40.00", "ADJUSTED 5.00"],
			...["PAID -45.00", "PAID 45.00", "PAID -45.00"],
			...["ADJUSTED 1.00", "ADJUSTED -1.00"],
		]);
		const [statement] = listOf(file, "statements");
		deepEqual([statement?.["number"], statement?.["total"]], ["2026-0001", "45.00"]);
		equal((statement?.["parties"] as { partner: Row } | undefined)?.partner["name"], `${ODD} Media`);
		equal(listOf(file, "links").length, 2);
		equal(listOf(file, "sales").length, 2);
		ok(listOf(file, "sales").some(({ publicId, sub1 }) => publicId === sale.public_id && sub1 === ODD));
		deepEqual(
			listOf(file, "clicksByDay").map(({ link, kind, clicks }) => [link, kind, clicks]),
			[["zorblax-old", "click", 3]],
		);
		const callbacks = listOf(file, "callbacks");
		ok(callbacks.length >= 3);
		ok(callbacks.some(({ attempts }) => (attempts as Row[])[0]?.["result"] === "network-error"));
		for (const name of [
			"callbackUrls",
			"signingSecrets",
			"noticesAboutCallbacks",
			"apiTokens",
			"apiReferences",
			"applications",
			"partnerships",
			"auditEntries",
			"invitedAddresses",
		]) {
			ok(listOf(file, name).length > 0, name);
		}
		equal(JSON.stringify(file).includes(sale.order_id), false, "order IDs belong to the shop");
		await refuseSecrets(file);
	});

	/** Checks that a file has no secret, and names nobody of the network or of the shop. */
	async function refuseSecrets(file: Exported): Promise<void> {
		const text = JSON.stringify(file);
		const { db } = database.store;
		const secrets = [
			...(await db.selectFrom("passwords").select("hash as secret").execute()),
			...(await db.selectFrom("sessions").select("token_hash as secret").execute()),
			...(await db.selectFrom("api_tokens").select("hash as secret").execute()),
			...(await db.selectFrom("signing_secrets").select("sealed as secret").execute()),
			...(await db.selectFrom("payment_details").select("sealed as secret").execute()),
		];
		ok(secrets.length > 5);
		for (const { secret } of secrets) equal(text.includes(secret), false);
		for (const other of ["sam@network.example", "Sam Staff", "olga@shop.example", filled.token]) {
			equal(text.includes(other), false, other);
		}
	}

	test("is in the audit log, and people export only their own data", async () => {
		const { site, person, owner } = filled;
		const { db } = database.store;
		const session = await db
			.selectFrom("sessions")
			.select("id")
			.where("person_id", "=", person.id)
			.executeTakeFirstOrThrow();
		const actor = { kind: "shop", personId: person.id, sessionId: session.id } as const;
		const refused = await exportPerson(site.deps, actor, owner.public_id);
		equal(refused.ok, false);
		equal((await exportPartner(site.deps, actor, filled.partner.public_id)).ok, false);
		ok((await exportPerson(site.deps, actor, person.public_id)).ok);
		const entries = await db
			.selectFrom("audit_entries")
			.select(["action", "subject", "person_id"])
			.where("action", "in", ["person.exported", "partner.exported"])
			.orderBy("id", "desc")
			.limit(1)
			.execute();
		deepEqual(entries, [{ action: "person.exported", subject: person.public_id, person_id: person.id }]);
	});
});
