// Saves and removes a programme's Postback URL. Saving applies the same rules that are checked before every
// delivery.

import { type Result, succeed } from "../domain/fault.ts";
import { judgeHost, parsePostbackUrl, refusePlaceholder } from "../domain/postback-url.ts";
import type { Actor } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { AddressPolicy, Log, LookUp, Transport } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { bringRemovedForward } from "../store/queries/bring-forward.ts";
import { findOldestPending, MAX_COUNTED_UNDELIVERED } from "../store/queries/delivery-health.ts";
import { presentUrl, removeEndpoint, setEndpoint } from "../store/queries/receivers.ts";
import { changeLocked } from "./programmes.ts";
import { formMayContinue, type Worked } from "./resend.ts";

export interface PostbackUrlDeps extends Pick<AccountsDeps, "store" | "clock"> {
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
	/**
	 * The addresses of a refused host are only logged. If the page showed them, owners could explore the
	 * server's network.
	 */
	log: Log;
}

export interface SavedPostbackUrl {
	url: string;
	/** The previous URL, or null if there was none. Its pending retries now go to the new URL. */
	replaced: string | null;
}

export async function savePostbackUrl(
	deps: PostbackUrlDeps,
	programmePublicId: string,
	text: string,
	actor: Actor,
): Promise<Result<SavedPostbackUrl>> {
	const parsed = refusePlaceholder(text) ?? parsePostbackUrl(text);
	if (!parsed.ok) return parsed;
	const url = parsed.value;
	const lookUp = url.isLiteral ? undefined : await deps.transport.lookUp(url.hostname);
	const addresses = lookUp?.ok === true ? lookUp.addresses : [];
	const judged = judgeHost(url, addresses, deps.addressPolicy.allowedPrivateRanges);
	if (!judged.ok) {
		logRefusal(deps.log, programmePublicId, url.hostname, judged.fault.code, lookUp);
		return judged;
	}
	return changeLocked(deps, programmePublicId, actor, async ({ trx, programme, personId, nowMs }) => {
		const { id: programmeId, receiver_id: receiverId } = programme;
		const replaced = (await presentUrl(trx, receiverId)) ?? null;
		await setEndpoint(trx, programme, url.href, nowMs);
		if (replaced !== url.href) {
			// The audit log gets the URL without its query, because shops put tokens there.
			const subject = url.href.replace(/\?.*$/s, "?…");
			await noteAudit(trx, { personId, programmeId, action: "postback_url.saved", subject }, nowMs);
		}
		return succeed({ url: url.href, replaced });
	});
}

/**
 * Removes the URL. Nothing more is sent after the commit. Resolves to the number of pending callbacks that
 * the engine cancels, counted up to a limit.
 */
export async function removePostbackUrl(
	deps: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	actor: Actor,
): Promise<Result<Worked>> {
	const removed = await changeLocked(
		deps,
		programmePublicId,
		actor,
		async ({ trx, programme, personId, nowMs }) => {
			const { id: programmeId, receiver_id: receiverId } = programme;
			const { count } = await findOldestPending(trx, receiverId);
			if ((await presentUrl(trx, receiverId)) !== undefined) {
				const detail = `${count}${count < MAX_COUNTED_UNDELIVERED ? "" : " or more"} callbacks were pending`;
				await noteAudit(trx, { personId, programmeId, action: "postback_url.removed", detail }, nowMs);
			}
			await removeEndpoint(trx, programme, nowMs);
			return succeed({ receiverId, count });
		},
	);
	if (!removed.ok) return removed;
	const { receiverId, count } = removed.value;
	const mayContinue = formMayContinue(deps.clock, actor);
	const isAll = await bringRemovedForward(deps.store, deps.clock, receiverId, mayContinue);
	return succeed({ count, isAll });
}

function logRefusal(
	log: Log,
	programme: string,
	host: string,
	code: string,
	lookUp: LookUp | undefined,
): void {
	const answer = lookUp?.ok === false ? { dns: lookUp.code } : { addresses: lookUp?.addresses ?? [host] };
	log.warn({ programme, host, code, ...answer }, "a Postback URL was not saved");
}
