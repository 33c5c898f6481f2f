// A partner's links.

import { CODE_PATTERN, type LandingHost, landingUrl, sayHost } from "../domain/click.ts";
import { readName } from "../domain/display-name.ts";
import { checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import { type SignedInPerson, transactAs } from "../people/actor.ts";
import type { Clock, Random } from "../ports.ts";
import { findLandingHosts } from "../store/queries/clicks.ts";
import {
	countLinks,
	insertLink,
	type NamedPartnership,
	type PartnerLink,
} from "../store/queries/partners.ts";
import type { Store } from "../store/store.ts";
import { note } from "./partners.ts";

/** 40 bits: short enough to type, and nobody finds many by trying. */
const CODE_BYTES = 5;
/** More than anybody looks after by hand; sub ids tell placements apart. */
const MAX_LINKS = 500;

export interface LinkInput {
	/** What the partner calls it; may be empty. */
	name: string;
	target: string;
	/** Empty: one is made. */
	code: string;
}

/** By the partner's own people, or staff for them. */
export async function makeLink(
	{ store, clock, random }: { store: Store; clock: Clock; random: Random },
	maker: SignedInPerson,
	partnership: NamedPartnership,
	input: LinkInput,
): Promise<Result<PartnerLink>> {
	if (partnership.ended_at_ms !== null) {
		const whom = partnership.ended_by_staff === 1 ? "the network's staff" : "the programme's owner";
		return refuse("partnership_ended", `This partnership has ended. Ask ${whom} to resume it.`);
	}
	const { programme_id: programmeId, programme_name } = partnership;
	const hosts = (await findLandingHosts(store.db, [programmeId])).get(programmeId) ?? [];
	const read = checkAll({
		target: readTarget(input.target.trim(), hosts, programme_name),
		name: input.name.trim() === "" ? succeed("") : readName(input.name, "the link's"),
		code: readCode(input.code.trim().toLowerCase() || random.hex(CODE_BYTES)),
	});
	if (!read.ok) return read;
	const { target, name, code } = read.value;
	return transactAs(store, maker, async (trx) => {
		if ((await countLinks(trx, partnership.id)) >= MAX_LINKS) {
			const text = `A partner has at most ${MAX_LINKS} links. Use sub IDs to tell placements apart.`;
			return refuse("too_many_links", text);
		}
		const row = { code, partnership_id: partnership.id, name, target: target.href };
		const link = await insertLink(trx, { ...row, created_at_ms: clock.nowMs() });
		if (link === undefined) {
			const text = `The link code ${code} is taken. Choose another one, or leave it empty.`;
			return refuse("code_taken", text, "code");
		}
		await note(trx, { clock }, maker, "link.made", code, link.target, programmeId);
		return succeed(link);
	});
}

function readTarget(text: string, hosts: readonly LandingHost[], programmeName: string): Result<URL> {
	const target = landingUrl(text, hosts);
	if (target !== null) return succeed(target);
	const names = hosts.map(sayHost).join(", ");
	const cure =
		names === ""
			? `${programmeName} has not named its shop's addresses yet. Ask its owner.`
			: `Enter an address that starts with https://, has no port, and is at ${names}.`;
	return refuse("foreign_target", cure, "target");
}

function readCode(code: string): Result<string> {
	if (CODE_PATTERN.test(code)) return succeed(code);
	const rule =
		"A link code has at most 40 letters a to z, digits and hyphens, and starts and ends with a letter or a digit.";
	return refuse("invalid_field", rule, "code");
}
