// A programme with owners, an API key and a Postback URL, made by the use cases that make real ones.

import { issueKey } from "../../src/accounts/keys.ts";
import { openProgramme } from "../../src/accounts/open-programme.ts";
import { createPerson } from "../../src/accounts/people.ts";
import { savePostbackUrl } from "../../src/accounts/postback-url.ts";
import { readConfig } from "../../src/config.ts";
import type { Environment } from "../../src/config-values.ts";
import { openWorkplace, type Workplace } from "../../src/service.ts";
import { addOwner } from "../../src/store/programmes.ts";
import { expectValue } from "../support/shop-programme.ts";

export interface ShopAccount {
	programmeId: string;
	/** Its key inside the database. */
	programmeRow: number;
	apiKey: string;
	secret: string;
}

export interface AccountOptions {
	/** None: no callbacks are owed. */
	postbackUrl?: string;
	name?: string;
	owners?: readonly string[];
}

export async function openAccount(
	workplace: Workplace,
	{ postbackUrl, name = "Shop", owners = ["owner@shop.example"] }: AccountOptions,
): Promise<ShopAccount> {
	const people = [];
	for (const email of owners)
		people.push(expectValue(await createPerson(workplace, { email, role: "owner" })));
	const opened = expectValue(
		await openProgramme(workplace, null, {
			name,
			ownerEmail: owners[0] ?? "",
			currency: "EUR",
			commissionRate: "8",
			feeRate: "2",
			approvalDays: 30,
			parksPixels: true,
		}),
	);
	const { programme } = opened;
	const programmeId = programme.public_id;
	for (const person of people) await addOwner(workplace.store.db, programme.id, person.id);
	const { key, secret } = expectValue(await issueKey(workplace, programmeId));
	if (postbackUrl !== undefined) expectValue(await savePostbackUrl(workplace, programmeId, postbackUrl));
	return { programmeId, programmeRow: programme.id, apiKey: key, secret: secret ?? "" };
}

/** In a database that nobody has open: migrates it first. */
export async function prepareDatabase(
	environment: Environment,
	options: AccountOptions = {},
): Promise<ShopAccount> {
	const read = readConfig({ LOG_LEVEL: "silent", ...environment });
	if (!read.ok) throw new Error(read.problems.join("\n"));
	const workplace = await openWorkplace(read.config);
	try {
		return await openAccount(workplace, options);
	} finally {
		await workplace.close();
	}
}
