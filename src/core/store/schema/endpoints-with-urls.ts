// Migration after which every endpoint has a URL. Before it, a partner could choose an endpoint of the form "listen"
// without a URL, and follow its events as a stream. The migration ends such an endpoint as if its URL had been
// removed.

import type { Dialect } from "./dialect.ts";

const LISTENING = "select id from endpoints where form = 'listen'";
const OF_PARTNERS = "select id from receivers where kind = 'partner'";

export function endpointsWithUrls({ kind, presentMs }: Dialect): readonly string[] {
	return [
		// A process that saves an endpoint first locks its receiver. This lock therefore prevents processes of the
		// previous version from saving a "listen" endpoint during the migration.
		...(kind === "postgres" ? ["lock table receivers in exclusive mode"] : []),
		`insert into audit_entries (at_ms, person_id, programme_id, action, subject, detail)
			select ${presentMs}, null, null, 'partner.url_removed', partner.public_id,
				'listening without a URL, which the upgrade ended'
			from receivers receiver join partners partner on partner.id = receiver.partner_id
			where receiver.endpoint_id in (${LISTENING}) order by receiver.id`,
		// The engine cancels pending deliveries of an older epoch.
		`update receivers set endpoint_id = null, endpoint_epoch = endpoint_epoch + 1
			where endpoint_id in (${LISTENING})`,
		// Nothing was ever sent to these endpoints, so no attempt refers to them.
		"delete from endpoints where form = 'listen'",
		...refuseListening(kind),
		// From now on, only shops can follow events as a stream.
		`delete from local_answers where receiver_id in (${OF_PARTNERS})`,
		`delete from listeners where receiver_id in (${OF_PARTNERS})`,
		// The erasure of a partner had a step that removed these answers. The later steps now have other numbers, so an
		// erasure in progress begins again with the first step.
		"update erasures set step = 0, position = '' where kind = 'partner' and finished_at_ms is null",
		// The dropped index served the stream of a partner's test callbacks.
		"drop index events_of_tests",
	];
}

/** Returns SQL that prevents processes of the previous version from saving a "listen" endpoint after the migration. */
function refuseListening(kind: Dialect["kind"]): readonly string[] {
	if (kind === "postgres") {
		return [
			`alter table endpoints drop constraint endpoints_form_check,
				add constraint endpoints_form_check check (form in ('json', 'get'))`,
		];
	}
	// SQLite cannot change the check of a column.
	return [
		`create trigger endpoints_refuse_listening before insert on endpoints when new.form = 'listen'
			begin select raise(abort, 'an endpoint has a URL'); end`,
	];
}
