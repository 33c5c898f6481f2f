// Assigns a conversion to a partner as staff do, who look at the amounts first and then confirm them.

import type { ConversionsDeps } from "#core/conversions/deps.ts";
import type { Result } from "#core/domain/fault.ts";
import type { SignedInPerson } from "#core/people/actor.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import {
	type AssignmentInput,
	assignPartner,
	previewAssignment,
} from "#modules/partners/use-cases/assign.ts";

/** Number of tries until a person gives up because others keep changing the conversion. */
const MAX_LOOKS = 10;

export async function assignAsShown(
	deps: ConversionsDeps,
	actor: SignedInPerson,
	conversionId: string,
	input: AssignmentInput,
): Promise<Result<Conversion>> {
	for (let look = 1; ; look++) {
		const preview = await previewAssignment(deps, conversionId, input);
		if (!preview.ok) return preview;
		const { shown } = preview.value;
		const assigned = await assignPartner(deps, actor, conversionId, { ...input, shown });
		if (assigned.ok || assigned.fault.code !== "changed_meanwhile" || look === MAX_LOOKS) return assigned;
	}
}
