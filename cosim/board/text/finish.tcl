validate_bd_design
save_bd_design
set design [get_files system.bd]
add_files -norecurse [make_wrapper -files $design -top]
set_property top system_wrapper [current_fileset]
update_compile_order -fileset sources_1
launch_runs impl_1 -to_step write_bitstream -jobs $jobs
wait_on_run impl_1
