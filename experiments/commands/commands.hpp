// The commands that work on an experiment or cluster file. Each is mounted on the command line. A
// callback does its work while `app` parses, and leaves its exit code in `exit_code`. `app` and
// `exit_code` must outlive the parse.
#pragma once

namespace CLI {
class App;
}

namespace orrery {

/// `orrery run FILE`: trains every combination of the file for real, writes a folder per run,
/// prints a table.
void add_run_command(CLI::App& app, int& exit_code);

/// `orrery sweep FILE`: the same, but skips what an earlier start has done.
void add_sweep_command(CLI::App& app, int& exit_code);

/// `orrery infer FILE`: computes a trained model for all vertices, for real or simulated, and
/// writes a row for each.
void add_infer_command(CLI::App& app, int& exit_code);
void add_predict_command(CLI::App& app);
void add_watch_command(CLI::App& app);

/// `orrery plan FILE`: records what would run and prints operations, FLOPs, bytes, memory, and
/// whether it fits.
void add_plan_command(CLI::App& app, int& exit_code);

/// `orrery advise FILE`: the fastest plans of an experiment that fit its cluster, and what would
/// change the answer.
void add_advise_command(CLI::App& app, int& exit_code);

/// `orrery caches FILE`: draws the batches of sampled training and prints the share of their rows
/// that caches of every policy and size would hold.
void add_caches_command(CLI::App& app, int& exit_code);

/// `orrery starve FILE`: which stage before training keeps the trainers of sampled training
/// waiting, and what would be enough.
void add_starve_command(CLI::App& app, int& exit_code);

/// `orrery trace FILE`: an epoch as a trace for other simulators.
void add_trace_command(CLI::App& app, int& exit_code);

/// `orrery breakdown FILE`: the time of an experiment from its files to its last epoch, for several
/// methods of cutting, and after how many runs one pays over another.
void add_breakdown_command(CLI::App& app, int& exit_code);

/// `orrery validate FILE...`: runs experiments for real, simulated and on paper, and reports the
/// differences.
void add_validate_command(CLI::App& app, int& exit_code);

/// `orrery partition GRAPH|FILE`: cuts a graph, prints the metrics, writes the parts.
void add_partition_command(CLI::App& app, int& exit_code);

/// `orrery cluster show FILE|NAME`: prints a described cluster, its links and the routes between
/// its devices, and draws it.
void add_cluster_command(CLI::App& app, int& exit_code);

/// `orrery report DIR`: an HTML page of a result folder. Becomes analysis/report.py.
void add_report_command(CLI::App& app);

/// `orrery figure NAME|--list`: runs, pictures and numbers of a paper's figure. Becomes
/// analysis/figure.py.
void add_figure_command(CLI::App& app);

/// `orrery equations [PAPER]`: prints the papers' equations, each with an example.
///
/// Errors    ConfigError naming the papers
void add_equations_command(CLI::App& app);

/// `orrery calibrate`: measures this machine, writes its device profile and cluster file, prints
/// the errors of the fit.
void add_calibrate_command(CLI::App& app, int& exit_code);

}  // namespace orrery
