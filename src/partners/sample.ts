// The sample programme's partner, so that a newcomer sees a link, a click and a credited test before there is a real one.

import { foldCode } from "../domain/credit.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { type Actor, transactAs } from "../people/actor.ts";
import type { InvitationsDeps } from "../people/invitations.ts";
import {
	insertCode,
	insertLink,
	insertPartner,
	type Partner,
	replaceLandingHosts,
} from "../store/queries/partners.ts";
import { type Programme, updateProgramme } from "../store/queries/programmes.ts";
import { joinProgramme } from "./partners.ts";

/** A page that is really there, and shows the click ID in the browser's address bar. */
const HOST = "example.com";
export const SAMPLE_LINK = { code: "sample-blog", name: "Newsletter", target: `https://${HOST}/` };
const COUPON_CODE = "SAMPLE10";

/** The programme credits partners from now on. Nobody signs in for the partner yet. */
export async function addSamplePartner(
	deps: Pick<InvitationsDeps, "store" | "clock" | "random">,
	maker: Actor,
	programme: Programme,
): Promise<Result<Partner>> {
	const added = await transactAs<Partner>(deps.store, maker, async (trx) => {
		const at = { created_at_ms: deps.clock.nowMs() };
		await updateProgramme(trx, programme.id, { credits_partners: 1 });
		await replaceLandingHosts(trx, programme.id, [{ host: HOST, withSubdomains: false }]);
		const public_id = makeId("ptn", at.created_at_ms, deps.random.bytes(ID_RANDOM_BYTES));
		const partner = await insertPartner(trx, { ...at, public_id, name: "Sample blog", site: "" });
		const joined = await joinProgramme(trx, deps, maker, programme, partner);
		if (!joined.ok) return joined;
		const own = { ...at, partnership_id: joined.value.id };
		await insertLink(trx, { ...own, ...SAMPLE_LINK });
		const code = { code: COUPON_CODE, folded: foldCode(COUPON_CODE), programme_id: programme.id };
		await insertCode(trx, { ...own, ...code });
		return succeed(partner);
	});
	deps.store.announceChange(programme.id);
	return added;
}
