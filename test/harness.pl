#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
# Runs tests that print TAP, through perl's own TAP::Harness (what prove runs), and
# is quiet about those that pass: shows the output of each failed file, each
# skipped test with its reason, and ends with the counts of all tests.
#	harness.pl TEST...    (see test/run)
use strict;
use warnings;
use File::Temp qw(tempdir);
use TAP::Harness;

my $top = $ENV{TOP} or die "harness.pl: TOP is not set, start test/run instead\n";
my $dir = tempdir(CLEANUP => 1);
local $ENV{PERL_TEST_HARNESS_DUMP_TAP} = $dir;

# A test may ask for more time than the usual, in a line "# timeout: SECONDS"; on a slow
# machine, or for a long soak, all get TAPBATCH_TEST_TIMEOUT seconds at least.
sub seconds_for {
	my ($test) = @_;
	open my $fh, '<', $test or die "harness.pl: $test: $!\n";
	read $fh, my $head, 2000;
	my $seconds = $head =~ /^[#\/ *]* timeout: (\d+)$/m ? $1 : 120;
	my $least = $ENV{TAPBATCH_TEST_TIMEOUT} || 0;
	return $seconds > $least ? $seconds : $least;
}

sub command_for {
	my ($harness, $test) = @_;
	my @sandbox = $test =~ /\.t$/ ? ("$top/test/sandbox") : ();
	return ['timeout', '--kill-after=10', seconds_for($test), @sandbox, $test];
}

sub output_of {
	my ($test) = @_;
	open my $fh, '<', "$dir/$test" or return '';
	local $/;
	return <$fh> // '';
}

my $harness = TAP::Harness->new({
	exec => \&command_for,
	merge => 1,
	timer => 1,
	verbosity => -t STDOUT ? 0 : -1,
});
my $results = $harness->runtests(@ARGV);

my ($passed, $failed, $skipped) = (0, 0, 0);
for my $test ($results->descriptions) {
	my ($parser) = $results->parsers($test);
	my $output = output_of($test);
	my $lost = $parser->has_problems && !$parser->failed ? 1 : 0; # crashed, or cut short
	my $skips = $parser->skip_all ? 1 : $parser->skipped;
	$failed += $parser->failed + $lost;
	$skipped += $skips;
	$passed += $parser->passed - ($parser->skip_all ? 0 : $parser->skipped);

	if ($parser->has_problems) {
		print "\n---- $test failed\n$output";
		print "---- timed out after ", seconds_for($test), " s\n" if $parser->exit == 124;
	}
	print "SKIPPED $test: $1\n" while $output =~ /^(?:ok|1\.\.0)\b(.*?\s# skip.*)$/gim;
}
$failed++ if !@ARGV;
print "\n$passed passed, $failed failed, $skipped skipped\n";
exit($failed ? 1 : 0);
