// What scripts add to pages that work without them: times in the reader's zone, copy buttons, questions before
// something is done for good, select-all, charts. Runs again for every fragment that htmx brings.

(() => {
	const fullTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
	const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

	function showLocalTimes(root) {
		for (const element of root.querySelectorAll("time[datetime]")) {
			const at = new Date(element.dateTime);
			if (Number.isNaN(at.getTime())) continue;
			element.textContent = (element.dataset.show === "day" ? dayOnly : fullTime).format(at);
		}
	}

	function offerCopying(root) {
		if (navigator.clipboard === undefined) return;
		for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
	}

	function offerSelectAll(root) {
		for (const box of root.querySelectorAll("input[data-select-all]")) box.hidden = false;
	}

	async function copy(button) {
		const label = button.textContent;
		try {
			await navigator.clipboard.writeText(button.dataset.copy);
			button.textContent = "Copied";
		} catch {
			button.textContent = "Select and copy";
		}
		setTimeout(() => {
			button.textContent = label;
		}, 1_500);
	}

	function colourOf(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
	}

	/** Stacked bars are drawn from the top of the pile down, so that each shows only its own part. */
	function pile(series) {
		const sums = [];
		return series.map(({ values }) =>
			values.map((value, index) => (sums[index] = (sums[index] ?? 0) + value)),
		);
	}

	/** As many days as fit are named under the axis. */
	function nameDays(days, width) {
		const everySo = Math.max(1, Math.ceil((days.length * 64) / width));
		const monthDay = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
		return (_, indexes) =>
			indexes.map((index) => {
				const day = Number.isInteger(index) && index % everySo === 0 ? days[index] : undefined;
				return day === undefined ? "" : monthDay.format(new Date(`${day}T00:00:00Z`));
			});
	}

	function drawChart(plot) {
		if (window.uPlot === undefined || plot.clientWidth === 0) return;
		const { days, series, unit, isStacked } = JSON.parse(plot.dataset.chart);
		const shown = isStacked ? pile(series) : series.map(({ values }) => values);
		const order = series.map((_, index) => index);
		if (isStacked) order.reverse();
		const ink = colourOf("ink-faint");
		const line = colourOf("line");
		const font = "12px system-ui, sans-serif";
		plot.replaceChildren();
		new window.uPlot(
			{
				width: plot.clientWidth,
				height: 220,
				padding: [12, 4, 0, 0],
				scales: {
					x: { time: false, range: [-0.6, days.length - 0.4] },
					y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] },
				},
				cursor: { points: { show: !isStacked }, drag: { x: false, y: false } },
				axes: [
					{
						stroke: ink,
						font,
						grid: { show: false },
						ticks: { show: false },
						size: 30,
						splits: () => days.map((_, index) => index),
						values: nameDays(days, plot.clientWidth),
					},
					{
						stroke: ink,
						font,
						grid: { stroke: line, width: 1 },
						ticks: { show: false },
						size: 40,
						incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6],
						values: (_, ticks) => ticks.map((tick) => `${tick}${unit}`),
					},
				],
				series: [
					{ label: "Day", value: (_, index) => (index === null ? "" : (days[index] ?? "")) },
					...order.map((index) => ({
						label: series[index].label,
						stroke: colourOf(`chart-${series[index].colour}`),
						width: isStacked ? 0 : 2,
						fill: isStacked ? colourOf(`chart-${series[index].colour}`) : undefined,
						paths: isStacked ? window.uPlot.paths.bars({ size: [0.64, 44] }) : undefined,
						value: (_, __, ___, at) => (at === null ? "" : `${series[index].values[at]}${unit}`),
						points: { show: !isStacked && days.length < 40 },
					})),
				],
			},
			[days.map((_, index) => index), ...order.map((index) => shown[index])],
			plot,
		);
	}

	function drawCharts(root) {
		for (const plot of root.querySelectorAll("[data-chart]")) drawChart(plot);
	}

	function enhance(root) {
		showLocalTimes(root);
		offerCopying(root);
		offerSelectAll(root);
		drawCharts(root);
	}

	document.addEventListener("click", (event) => {
		const target = event.target instanceof Element ? event.target : null;
		const copying = target?.closest("button[data-copy]");
		if (copying) copy(copying);
		const asking = target?.closest("[data-confirm]");
		if (asking && !window.confirm(asking.dataset.confirm)) event.preventDefault();
		for (const menu of document.querySelectorAll("details.menu[open]")) {
			if (!menu.contains(target)) menu.open = false;
		}
	});

	document.addEventListener("keydown", (event) => {
		if (event.key !== "Escape") return;
		for (const menu of document.querySelectorAll("details.menu[open]")) {
			menu.open = false;
			menu.querySelector("summary")?.focus();
		}
	});

	document.addEventListener("change", (event) => {
		const box = event.target;
		if (!(box instanceof HTMLInputElement) || box.dataset.selectAll === undefined) return;
		for (const other of document.querySelectorAll(
			`input[type="checkbox"][name="${box.dataset.selectAll}"]`,
		)) {
			other.checked = box.checked;
		}
	});

	/** On a phone the bars of links are wider than the screen: the page one is on must not be out of sight. */
	function showPlace() {
		for (const link of document.querySelectorAll(".sidebar [aria-current], .tabs-list [aria-current]")) {
			const bar = link.parentElement;
			const ahead = link.getBoundingClientRect().right - bar.getBoundingClientRect().right;
			if (ahead > 0) bar.scrollLeft += ahead + bar.clientWidth / 4;
		}
	}

	let resizing;
	addEventListener("resize", () => {
		clearTimeout(resizing);
		resizing = setTimeout(() => drawCharts(document), 150);
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawCharts(document));
	document.addEventListener("htmx:after:swap", () => enhance(document));
	enhance(document);
	showPlace();
})();
