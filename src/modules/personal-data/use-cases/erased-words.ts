// The names and addresses that an erasure looks for. They are stored sealed until the erasure is finished.

import * as z from "zod";
import type { ErasedWords } from "#core/domain/erasure.ts";
import { openText, SEALED_FOR, SEALING_IV_BYTES, sealText } from "#core/domain/sealing.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import { findPersonByEmail, type Person } from "#core/store/queries/people.ts";
import { sealingKeyIn } from "#core/store/queries/sealing-key.ts";
import { listPartnerInvitations } from "#core/store/queries/sign-in-links.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { listApplicantNames, listAuditDetails, listLinkCodes } from "../store/erased-rows.ts";
import type { Erasure } from "../store/erasures.ts";

const WORDS = z.object({
	emails: z.array(z.string()),
	names: z.array(z.string()),
	codes: z.array(z.string()),
	replacement: z.string(),
}) satisfies z.ZodType<ErasedWords>;

type Found = Omit<ErasedWords, "replacement">;

/**
 * Returns a person's name, the addresses that they have, had or asked for, and the names under which they wait for the
 * answer to an application. `otherNames` are names that only the caller knows.
 */
export async function findWordsOfPerson(
	db: Db,
	{ id, email, name }: Person,
	otherNames: readonly string[] = [],
): Promise<Found> {
	const actions = ["address.asked", "address.changed"];
	const entries = await listAuditDetails(db, actions, { personId: id });
	const addresses = entries.flatMap(({ detail }) => (detail ?? "").split(" → "));
	const emails = [...new Set([email, ...addresses.filter((text) => text.includes("@"))])];
	const applied = await listApplicantNames(db, emails);
	const names = new Set([name, ...applied, ...otherNames].filter((text) => text !== ""));
	return { emails, names: [...names], codes: [] };
}

/** Returns the names that a partner has or had, the codes of its links, and addresses that were invited to it. */
export async function findWordsOfPartner(db: Db, partner: Partner): Promise<Found> {
	const entries = await listAuditDetails(db, ["partner.changed"], { subject: partner.public_id });
	// A former name that contains an arrow is found only up to that arrow.
	const former = entries.flatMap(({ detail }) => /^name: (.+?) → /.exec(detail ?? "")?.[1] ?? []);
	const emails: string[] = [];
	for (const { email } of await listPartnerInvitations(db, partner.id)) {
		// A person with an account needs an erasure of their own.
		if ((await findPersonByEmail(db, email)) === undefined) emails.push(email);
	}
	return {
		emails,
		names: [...new Set([partner.name, ...former])],
		codes: await listLinkCodes(db, partner.id),
	};
}

export async function sealWords(
	trx: Db,
	{ keyRing, random }: Pick<AccountsDeps, "keyRing" | "random">,
	publicId: string,
	words: ErasedWords,
): Promise<string> {
	const key = await sealingKeyIn(trx, keyRing);
	const iv = random.bytes(SEALING_IV_BYTES);
	return sealText(key, SEALED_FOR.erasure(publicId), JSON.stringify(words), iv);
}

/** Opens the words of an erasure that is not finished. Throws if they were sealed with another key. */
export function openWords(
	{ keyRing }: Pick<AccountsDeps, "keyRing">,
	{ public_id, sealed_words }: Pick<Erasure, "public_id" | "sealed_words">,
): ErasedWords {
	const text = openText(keyRing, SEALED_FOR.erasure(public_id), sealed_words ?? "");
	if (text === null) {
		throw new Error(`the erasure of ${public_id} was sealed with another key, so it cannot be finished`);
	}
	return WORDS.parse(JSON.parse(text));
}
