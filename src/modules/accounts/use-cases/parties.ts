// Both parties of a statement, as they were on the day of its issue. The copy is sealed, because it contains the
// partner's account.

import * as z from "zod";
import { DEFAULT_BRAND, networkName } from "#core/domain/network.ts";
import { openText, SEALED_FOR, SEALING_IV_BYTES, sealText } from "#core/domain/sealing.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import type { Statement, StatementSettings } from "../store/statements.ts";
import type { StatementsDeps } from "./deps.ts";
import { DETAILS, type StoredDetails } from "./payment-details.ts";

const PARTIES = z.object({
	/** The name is null if the network had chosen neither a name nor a brand. */
	network: z.object({ name: z.string().nullable(), address: z.string().nullable() }),
	partner: z.object({
		name: z.string(),
		site: z.string(),
		/** VAT percentage and note as staff entered them. Nothing is calculated from them. */
		vatPercent: z.string().nullable(),
		vatNote: z.string(),
		/** Payment details, or null if the partner had entered none. */
		details: DETAILS.nullable(),
	}),
});

export type StatementParties = z.infer<typeof PARTIES>;

export function partiesOf(
	settings: StatementSettings,
	partner: Partner,
	details: StoredDetails | null,
): StatementParties {
	return {
		network: {
			name: networkName({ name: settings.name, brand: settings.brand ?? DEFAULT_BRAND }),
			address: settings.postal_address,
		},
		partner: {
			name: partner.name,
			site: partner.site,
			vatPercent: partner.vat_percent,
			vatNote: partner.vat_note,
			details,
		},
	};
}

export function sealParties(
	key: Uint8Array,
	{ random }: Pick<StatementsDeps, "random">,
	publicId: string,
	parties: StatementParties,
): string {
	const iv = random.bytes(SEALING_IV_BYTES);
	return sealText(key, SEALED_FOR.statement(publicId), JSON.stringify(parties), iv);
}

/**
 * Opens the copy of both parties. Returns null if it was sealed with another key, or removed after the erasure of the
 * partner.
 */
export function openParties(
	{ keyRing }: Pick<StatementsDeps, "keyRing">,
	{ public_id, sealed_parties }: Pick<Statement, "public_id" | "sealed_parties">,
): StatementParties | null {
	const text = openText(keyRing, SEALED_FOR.statement(public_id), sealed_parties);
	return text === null ? null : PARTIES.parse(JSON.parse(text));
}

/** Returns whether the parties were removed, because the partner was erased and the legal period has ended. */
export function wereRemoved({ sealed_parties }: Pick<Statement, "sealed_parties">): boolean {
	return sealed_parties === "";
}
