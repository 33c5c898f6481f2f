// Partner links are addresses of the form /c/<code>. They lead to a page of the shop and add a click ID.

import { readName } from "#core/domain/display-name.ts";
import { checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { forPartner, type PersonActor, transactAs } from "#core/people/actor.ts";
import type { Clock, Random } from "#core/ports.ts";
import type { Store } from "#core/store/store.ts";
import {
	ANY_CODE_PATTERN,
	CODE_PATTERN,
	type LandingHost,
	landingUrl,
	MAX_TARGET_LENGTH,
	sayHost,
} from "../domain/click.ts";
import { findLandingHosts, listLandingHosts } from "../store/landing-hosts.ts";
import { countPartnerLinks, insertPartnerLink } from "../store/partner-links.ts";
import { findPartnership, lockPartnership } from "../store/partnerships.ts";
import type { PartnerLink } from "../store/tables.ts";
import { note, withScheme } from "./partners.ts";
import { unknownPartnership } from "./partnerships.ts";

/** Length of a random code. With 40 bits a code is short enough to type, and cannot be found by trying. */
const CODE_BYTES = 5;
/**
 * Maximum number of links of a partnership. Nobody manages more by hand, and sub IDs can tell placements
 * apart.
 */
const MAX_LINKS = 500;

export interface PartnerLinkInput {
	/** A name that the partner chooses, or empty. */
	name: string;
	target: string;
	/** The code that the partner wants, or empty for a random one. */
	code: string;
}

/**
 * Returns the input in the form in which a link is stored. Different spellings of the same link become equal.
 */
export function normalizeLink({ name, target, code }: PartnerLinkInput): PartnerLinkInput {
	const address = withScheme(target.trim());
	return {
		name: name.trim(),
		target: (address.length <= MAX_TARGET_LENGTH ? URL.parse(address)?.href : undefined) ?? address,
		code: code.trim().toLowerCase(),
	};
}

/** Creates a link for a partner. The partner's people and staff may do this. */
export async function makePartnerLink(
	{ store, clock, random }: { store: Store; clock: Clock; random: Random },
	actor: PersonActor,
	{ partnerId, partnershipId }: { partnerId: number; partnershipId: string },
	input: PartnerLinkInput,
): Promise<Result<PartnerLink>> {
	return transactAs(store, actor, forPartner(partnerId), async (trx) => {
		const partnership = await lockPartnership(trx, { partner_id: partnerId, public_id: partnershipId });
		const named = await findPartnership(trx, partnershipId);
		if (partnership === undefined || named === undefined) return unknownPartnership();
		if (partnership.ended_at_ms !== null) {
			const whom = partnership.ended_by_staff === 1 ? "the network's staff" : "the programme's owner";
			return refuse("partnership_ended", `This partnership has ended. Ask ${whom} to resume it.`);
		}
		const { programme_id: programmeId } = partnership;
		const hosts = (await findLandingHosts(trx, [programmeId])).get(programmeId) ?? [];
		const isWaiting = (await listLandingHosts(trx, programmeId)).length > 0;
		const read = checkAll({
			target: readTarget(withScheme(input.target.trim()), hosts, named.programme_name, isWaiting),
			name: input.name.trim() === "" ? succeed("") : readName(input.name, "the link's"),
			code: readCode(input.code.trim().toLowerCase() || random.hex(CODE_BYTES)),
		});
		if (!read.ok) return read;
		const { target, name, code } = read.value;
		if ((await countPartnerLinks(trx, partnership.id)) >= MAX_LINKS) {
			const text = `A partner has at most ${MAX_LINKS} links. Use sub IDs to tell placements apart.`;
			return refuse("too_many_links", text);
		}
		const row = { code, partnership_id: partnership.id, name, target: target.href };
		const link = await insertPartnerLink(trx, { ...row, created_at_ms: clock.nowMs() });
		if (link === undefined) {
			const text = `The link code ${code} is taken. Choose another one, or leave it empty.`;
			return refuse("code_taken", text, "code");
		}
		await note(trx, { clock }, actor, "link.made", code, link.target, programmeId);
		return succeed(link);
	});
}

function readTarget(
	text: string,
	hosts: readonly LandingHost[],
	programmeName: string,
	isWaiting: boolean,
): Result<URL> {
	const target = landingUrl(text, hosts);
	if (target !== null) return succeed(target);
	const names = hosts.map(sayHost).join(", ");
	const missing = isWaiting
		? `The addresses of ${programmeName} wait until the network's staff confirm them. Try again later.`
		: `${programmeName} has not named its shop's addresses yet. Ask its owner.`;
	const cure =
		names === ""
			? missing
			: `Enter an address of the shop, without a port. It must begin with https:// and one of these hosts: ${names}.`;
	return refuse("foreign_target", cure, "target");
}

function readCode(code: string): Result<string> {
	if (CODE_PATTERN.test(code)) return succeed(code);
	const rule =
		"A link code has at most 40 letters a to z, digits and hyphens, and starts and ends with a letter or a digit.";
	return refuse("invalid_field", rule, "code");
}

/**
 * Checks the code of a link that other software made. Such codes may have more forms than those that partners
 * choose here. Codes ignore case, as in the address of a click.
 */
export function readImportedCode(text: string): Result<string> {
	const code = text.toLowerCase();
	if (ANY_CODE_PATTERN.test(code)) return succeed(code);
	const rule =
		"A link code has at most 64 letters a to z, digits, hyphens, underscores, dots and tildes, and does not start with a dot or a tilde. Write only the part of the address after its last slash.";
	return refuse("invalid_field", rule, "code");
}
