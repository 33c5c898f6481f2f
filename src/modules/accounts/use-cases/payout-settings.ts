// The network's settings for statements: its postal address, and the minimum payout for each currency.

import { type Checked, checkAll, listFaults, succeed } from "#core/domain/fault.ts";
import { parsePostalAddress } from "#core/domain/network.ts";
import { type Actor, personIdOf, STAFF, transactAs } from "#core/people/actor.ts";
import type { NetworkDeps } from "#core/programmes/network.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { changeNetworkRow, lockNetwork } from "#core/store/queries/network.ts";
import { parseMinimums, writeMinimums } from "../domain/minimum-payout.ts";

export interface PayoutSettingsInput {
	postalAddress: string;
	/** Minimum payouts as they were typed, by currency. A currency that is missing gets no minimum. */
	minimums: ReadonlyMap<string, string>;
}

/** Saves the settings, which apply to statements that are prepared afterwards. Resolves to whether something changed. */
export async function savePayoutSettings(
	deps: Pick<NetworkDeps, "store" | "clock" | "network">,
	actor: Actor,
	input: PayoutSettingsInput,
): Promise<Checked<boolean>> {
	const read = checkAll({
		address: parsePostalAddress(input.postalAddress),
		minimums: parseMinimums(input.minimums),
	});
	if (!read.ok) return read;
	const { address } = read.value;
	const minimums = writeMinimums(read.value.minimums);
	const saved = await transactAs<boolean>(deps.store, actor, STAFF, async (trx) => {
		const network = await lockNetwork(trx);
		const changes = [
			...(address === network.postal_address
				? []
				: [`postal address: ${onOneLine(network.postal_address)} → ${onOneLine(address)}`]),
			...(minimums === network.minimum_payouts
				? []
				: [`minimum payouts: ${network.minimum_payouts || "none"} → ${minimums || "none"}`]),
		];
		if (changes.length === 0) return succeed(false);
		await changeNetworkRow(trx, network, { postal_address: address, minimum_payouts: minimums });
		const entry = {
			personId: personIdOf(actor),
			action: "network.changed",
			detail: changes.join("; "),
		} as const;
		await noteAudit(trx, entry, deps.clock.nowMs());
		return succeed(true);
	});
	deps.network.forget();
	return listFaults(saved);
}

function onOneLine(address: string | null): string {
	return address === null ? "none" : address.replaceAll("\n", ", ");
}
