// Creates the sample programme's partner, so that a newcomer can see a link, a click and a credited test sale
// before there is a real partner.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { type Actor, STAFF, transactAs } from "#core/people/actor.ts";
import type { InvitationsDeps } from "#core/people/invitations.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { lockProgramme, updateProgramme } from "#core/store/queries/programmes.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { foldCode } from "../domain/credit.ts";
import { insertCode } from "../store/coupon-codes.ts";
import { replaceLandingHosts } from "../store/landing-hosts.ts";
import { insertPartnerLink } from "../store/partner-links.ts";
import { joinProgramme } from "./partnerships.ts";

/** Host of the sample link. Its page exists, and the browser's address bar shows the click ID there. */
const HOST = "example.com";
export const SAMPLE_LINK = { code: "sample-blog", name: "Newsletter", target: `https://${HOST}/` };
const COUPON_CODE = "SAMPLE10";

/** Turns crediting on in the programme, and adds a partner for which nobody signs in yet. */
export async function addSamplePartner(
	deps: Pick<InvitationsDeps, "store" | "clock" | "random">,
	actor: Actor,
	programmeId: number,
): Promise<Result<Partner>> {
	const added = await transactAs<Partner>(deps.store, actor, STAFF, async (trx) => {
		const at = { created_at_ms: deps.clock.nowMs() };
		const programme = await lockProgramme(trx, programmeId);
		if (programme === undefined) return refuse("unknown_programme", "This programme does not exist.");
		await updateProgramme(trx, programme, { credits_partners: 1 });
		await replaceLandingHosts(trx, programme, [{ host: HOST, withSubdomains: false }]);
		const public_id = makeId("ptn", at.created_at_ms, deps.random.bytes(ID_RANDOM_BYTES));
		const partner = await insertPartner(trx, { ...at, public_id, name: "Sample blog", site: "" });
		const joined = await joinProgramme(trx, deps, actor, programme, partner);
		if (!joined.ok) return joined;
		const row = { ...at, partnership_id: joined.value.id };
		await insertPartnerLink(trx, { ...row, ...SAMPLE_LINK });
		const code = { code: COUPON_CODE, folded: foldCode(COUPON_CODE), programme_id: programmeId };
		await insertCode(trx, { ...row, ...code });
		return succeed(partner);
	});
	deps.store.announceChange(programmeId);
	return added;
}
