// Gives the demo's partner a statement of last month, which is to be paid. The sales of the demo are from today, so they
// are part of the next one.

import { HOUR_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { monthBefore, monthEndMs, monthIn } from "#modules/accounts/domain/statement.ts";
import { adjustAccount } from "#modules/accounts/use-cases/adjust.ts";
import { savePaymentDetails } from "#modules/accounts/use-cases/payment-details.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { finishJob } from "#modules/jobs/use-cases/work.ts";
import type { Service } from "../src/service.ts";
import { must } from "./must.ts";

/** The network's time zone, which nobody has changed in the demo. */
const ZONE = "UTC";

const DETAILS = {
	...{ payee: "Mira Sample", address: "1 Sample Street\nBerlin", country: "DE", vatId: "" },
	// The example of the IBAN registry, which belongs to nobody.
	...{ iban: "DE89370400440532013000", bic: "", account: "" },
};

export async function issueSampleStatement(service: Service, partnerId: number): Promise<void> {
	const { clock } = service;
	const deps = { ...service, publicUrl: service.url };
	const month = monthBefore(monthIn(clock.nowMs(), ZONE));
	const thenMs = monthEndMs(month, ZONE) - HOUR_MS;
	const lastMonth = { ...deps, clock: { ...clock, nowMs: () => thenMs } };
	const bonus = { amount: "40.00", currency: "EUR", reason: "Welcome bonus" };
	must(await savePaymentDetails(deps, COMMAND_LINE, partnerId, DETAILS));
	must(await adjustAccount(lastMonth, COMMAND_LINE, partnerId, bonus));
	const job = must(await prepareStatements(deps, COMMAND_LINE, month));
	const previewed = await finishJob(deps, job, () => undefined);
	if (previewed === undefined) throw new Error("the statement was discarded");
	must(await startJob(deps, previewed, COMMAND_LINE, false));
	await finishJob(deps, previewed, () => undefined);
}
