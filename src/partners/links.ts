// A partner's links, and the coupon codes that belong to a partnership.

import { CODE_PATTERN, landingUrl } from "../domain/click.ts";
import { foldCode, MAX_COUPON_CODE_CHARACTERS } from "../domain/credit.ts";
import { MAX_NAME_LENGTH, parseName } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Maker, transactAs, transactInProgramme } from "../people/links.ts";
import type { Clock, Random } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findLandingHosts } from "../store/queries/clicks.ts";
import {
	findCode,
	findPartnershipsById,
	insertCode,
	insertLink,
	listLinks,
	listPartnersOf,
	type NamedPartnership,
	type PartnerLink,
	removeCode,
} from "../store/queries/partners.ts";
import type { Store } from "../store/store.ts";

interface Deps {
	store: Store;
	clock: Clock;
	random: Random;
}

/** 40 bits: short enough to type, and nobody finds many by trying. */
const CODE_BYTES = 5;
/** More than anybody looks after by hand; sub ids tell placements apart. */
const MAX_LINKS = 500;
const MAX_TARGET_LENGTH = 2_048;

export interface LinkInput {
	/** What the partner calls it; may be empty. */
	name: string;
	target: string;
	/** Empty: one is made. */
	code: string;
}

/** By the partner's own people, or staff for them. */
export async function makeLink(
	{ store, clock, random }: Deps,
	maker: Maker,
	partnership: NamedPartnership,
	input: LinkInput,
): Promise<Result<PartnerLink>> {
	const name = input.name.trim() === "" ? "" : parseName(input.name);
	if (name === null) {
		return refuse("invalid_name", `A link's name has at most ${MAX_NAME_LENGTH} characters.`, "name");
	}
	if (partnership.ended_at_ms !== null || partnership.partner_ended_at_ms !== null) {
		return refuse("partnership_ended", "This partnership has ended. Ask the programme's owner to resume it.");
	}
	const { programme_id: programmeId, programme_name } = partnership;
	const hosts = (await findLandingHosts(store.db, [programmeId])).get(programmeId) ?? [];
	const target =
		input.target.trim().length > MAX_TARGET_LENGTH ? null : landingUrl(input.target.trim(), hosts);
	if (target === null) {
		const names = hosts.map(({ host }) => host).join(", ");
		const cure =
			names === ""
				? `${programme_name} has not named its shop's addresses yet. Ask its owner.`
				: `Enter an address that starts with https:// and is at ${names}.`;
		return refuse("foreign_target", cure, "target");
	}
	const code = input.code.trim().toLowerCase() || random.hex(CODE_BYTES);
	if (!CODE_PATTERN.test(code)) {
		return refuse(
			"invalid_field",
			"A code has at most 40 letters a to z, digits and hyphens, and starts and ends with a letter or a digit.",
			"code",
		);
	}
	return transactAs(store, maker, async (trx) => {
		const own = maker.kind === "staff" ? null : await listPartnersOf(trx, maker.personId);
		if (own?.every(({ id }) => id !== partnership.partner_id)) {
			return refuse("not_allowed", "You no longer sign in for this partner. Nothing was changed.");
		}
		const present = await listLinks(trx, [partnership.id]);
		if (present.length >= MAX_LINKS) {
			return refuse(
				"too_many_links",
				`A partner has at most ${MAX_LINKS} links. Use sub IDs to tell placements apart.`,
			);
		}
		const nowMs = clock.nowMs();
		const row = { code, partnership_id: partnership.id, name, target: target.href, created_at_ms: nowMs };
		const link = await insertLink(trx, row);
		if (link === undefined) {
			return refuse(
				"code_taken",
				`The code ${code} is taken. Choose another one, or leave it empty.`,
				"code",
			);
		}
		const note = { personId: maker.personId, programmeId, action: "link.made" } as const;
		await noteAudit(trx, { ...note, subject: code, detail: link.target }, nowMs);
		return succeed(link);
	});
}

export async function addCode(
	{ store, clock }: Deps,
	maker: Maker,
	partnership: NamedPartnership,
	text: string,
): Promise<Result<string>> {
	const code = parseName(text);
	if (code === null || code.length > MAX_COUPON_CODE_CHARACTERS) {
		return refuse(
			"invalid_field",
			`A coupon code has 1 to ${MAX_COUPON_CODE_CHARACTERS} characters, without line breaks.`,
			"code",
		);
	}
	const { programme_id: programmeId, id } = partnership;
	return transactInProgramme<string>(store, maker, programmeId, async (trx) => {
		const nowMs = clock.nowMs();
		const folded = foldCode(code);
		const row = { programme_id: programmeId, folded, code, partnership_id: id, created_at_ms: nowMs };
		if (!(await insertCode(trx, row))) {
			const other = (await findCode(trx, programmeId, folded))?.partnership_id;
			const named = other === undefined ? undefined : (await findPartnershipsById(trx, [other])).get(other);
			// Who else works with the programme is the network's to know.
			const whose = maker.kind === "staff" && named !== undefined ? named.partner_name : "a partner";
			return refuse(
				"code_taken",
				`The code ${code} belongs to ${whose} already. Remove it there first.`,
				"code",
			);
		}
		const note = { personId: maker.personId, programmeId, action: "code.added" } as const;
		await noteAudit(trx, { ...note, subject: code, detail: partnership.partner_name }, nowMs);
		return succeed(code);
	});
}

export function takeCode(
	{ store, clock }: Deps,
	maker: Maker,
	programmeId: number,
	code: string,
): Promise<Result<true>> {
	return transactInProgramme(store, maker, programmeId, async (trx) => {
		if (await removeCode(trx, programmeId, foldCode(code))) {
			const note = { personId: maker.personId, programmeId, action: "code.removed" } as const;
			await noteAudit(trx, { ...note, subject: code, detail: null }, clock.nowMs());
		}
		return succeed(true);
	});
}
