// The first start: as long as nobody of the staff can sign in, every start gives out one link that makes the
// first staff account.

import { hasStaffWithPassword } from "../store/sign-in.ts";
import { type InvitationsDeps, makeLink } from "./invitations.ts";

const FIRST_LINK_HOURS = 24;

/**
 * The path of the link, because where the service listens is known only later. Null once somebody of the staff
 * can sign in. The links of earlier starts stop working.
 */
export async function makeFirstStaffPath(
	deps: Pick<InvitationsDeps, "store" | "clock" | "random">,
): Promise<string | null> {
	return deps.store.transact(async (trx) => {
		if (await hasStaffWithPassword(trx)) return null;
		return makeLink(
			trx,
			{ ...deps, publicUrl: "" },
			{ personId: null, madeBy: null, lifeMs: FIRST_LINK_HOURS * 3_600_000 },
		);
	});
}
