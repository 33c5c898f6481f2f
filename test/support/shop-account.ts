// Creates a programme with owners, an API key and a Postback URL through the product's use cases.

import { randomBytes } from "node:crypto";
import type { Result } from "#core/domain/fault.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import { createPerson } from "#core/people/people.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { openProgramme } from "#core/programmes/open-programme.ts";
import { savePostbackUrl } from "#core/programmes/postback-url.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Workplace } from "../../src/service/workplace.ts";
import { setProgramme } from "./change-rows.ts";

export interface ShopAccount {
	programme: Programme;
	programmeId: string;
	/** Primary key of the programme in the database. */
	programmeRow: number;
	apiKey: string;
	secret: string;
}

export interface ProgrammeTerms {
	name?: string;
	currency?: string;
	approvalDays?: number;
	parksPixels?: boolean;
	/** E-mail addresses of the owners. By default a new person is created. */
	owners?: readonly string[];
}

export interface AccountOptions extends ProgrammeTerms {
	/** The Postback URL. Without one no callbacks are created. */
	postbackUrl?: string;
	creditsPartners?: boolean;
}

/** Creates the programme with its owners, but without an API key. */
export async function addProgrammeOf(
	deps: Pick<AccountsDeps, "store" | "clock" | "random">,
	{ owners = [`${randomBytes(6).toString("hex")}@shop.example`], ...terms }: ProgrammeTerms = {},
): Promise<Programme> {
	const people = [];
	for (const email of owners) people.push(expectValue(await createPerson(deps, { email, kind: "shop" })));
	const { programme } = expectValue(
		await openProgramme(
			deps,
			{ kind: "known" },
			{
				name: "Shop",
				ownerEmail: owners[0] ?? "",
				currency: "EUR",
				commissionRate: "8",
				feeRate: "2.5",
				approvalDays: 30,
				parksPixels: true,
				...terms,
			},
		),
	);
	for (const person of people) {
		await addToProgramme(deps.store.db, programme.id, person.id, "owner");
		// Owners get mails only if they have a password. Nobody signs in with this hash.
		await setPassword(deps.store.db, person.id, "hash", deps.clock.nowMs());
	}
	return programme;
}

/** Creates a programme with a key and its secret, but without a Postback URL. */
export async function addAccount(deps: AccountsDeps, terms: ProgrammeTerms = {}): Promise<ShopAccount> {
	const programme = await addProgrammeOf(deps, terms);
	const programmeId = programme.public_id;
	const { key, secret } = expectValue(await issueKey(deps, programmeId, COMMAND_LINE));
	return { programme, programmeId, programmeRow: programme.id, apiKey: key, secret: secret ?? "" };
}

export async function openAccount(
	workplace: Workplace,
	{ postbackUrl, creditsPartners = false, ...terms }: AccountOptions = {},
): Promise<ShopAccount> {
	const account = await addAccount(workplace, terms);
	if (creditsPartners) await setProgramme(workplace.store.db, account.programmeRow, { credits_partners: 1 });
	if (postbackUrl !== undefined) {
		expectValue(await savePostbackUrl(workplace, account.programmeId, postbackUrl, COMMAND_LINE));
	}
	return account;
}

export function expectValue<Value>(result: Result<Value>): Value {
	if (result.ok) return result.value;
	throw new Error(`${result.fault.code}: ${result.fault.detail}`);
}
